import Multipart

extension HeaderValue {
    /// Whether a body of this media type is an image file. Its format is told from its bytes.
    ///
    /// Forms without parts are what curl and others call any body, unless they are told its type.
    var isOfImages: Bool {
        name.hasPrefix("image/") || name == "application/octet-stream" || name == "application/x-www-form-urlencoded"
    }
}
