import Multipart

extension HeaderValue {
    /// Whether a body of this media type is an image file. Its bytes say of which format.
    ///
    /// `application/x-www-form-urlencoded` is what curl and others send by default.
    var isOfImages: Bool {
        name.hasPrefix("image/") || name == "application/octet-stream" || name == "application/x-www-form-urlencoded"
    }
}
