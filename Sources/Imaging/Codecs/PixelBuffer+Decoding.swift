import Foundation

extension PixelBuffer {
    /// Decodes a PNG, JPEG, WebP, HEIC, AVIF, GIF or TIFF file: the first frame, or page.
    ///
    /// The image is turned upright, colors are converted to sRGB, and transparent pixels are composited over white. The
    /// result is `gray8` or `rgb8`. The format is detected from the file's bytes, not from its name. A color profile
    /// that cannot be used is ignored, and ``decodingNotes`` says so.
    /// - Throws: ``ImageError`` with the path and the reason.
    public init(contentsOf url: URL, options: DecodingOptions = DecodingOptions()) throws(ImageError) {
        let path = url.path
        let data = try ImageFile.read(path: path, limit: options.maximumByteCount)
        try self.init(decoding: data, named: path, options: options)
    }

    /// Decodes the bytes of an image file, like ``init(contentsOf:options:)``.
    ///
    /// - Parameter name: what errors call the image.
    /// - Throws: ``ImageError`` with the name and the reason.
    public init(
        decoding data: Data, named name: String = "image", options: DecodingOptions = DecodingOptions()
    ) throws(ImageError) {
        let decoded = data.withUnsafeBytes { bytes in
            Result { () throws(ImageError.Reason) in
                switch try ImageFormat(of: bytes) {
                case .png: try ImageDecoder.png(bytes, options: options)
                case .jpeg: try ImageDecoder.jpeg(bytes, options: options)
                case .webp: try ImageDecoder.webp(bytes, options: options)
                case .heic: try ImageDecoder.heif(bytes, named: "a HEIC", options: options)
                case .avif: try ImageDecoder.heif(bytes, named: "an AVIF", options: options)
                case .gif: try ImageDecoder.gif(bytes, options: options)
                case .tiff: try ImageDecoder.tiff(bytes, options: options)
                }
            }
        }
        self = try decoded.mapError { ImageError(source: name, reason: $0) }.get()
    }
}

/// Reads whole files. Not mapped: a file that shrinks while it is mapped kills the process.
package enum ImageFile {
    /// What the names of image files end with, in lower case. Files of formats that a build lacks are among them, and
    /// are errors then.
    package static let extensions: Set<String> = [
        "avif", "gif", "heic", "heif", "hif", "jpe", "jpeg", "jpg", "png", "tif", "tiff", "webp",
    ]

    package static func read(path: String, limit: Int) throws(ImageError) -> Data {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw ImageError(source: path, reason: .unreadable(String(cString: strerror(errno))))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw ImageError(source: path, reason: .notAFile) }
        guard Int(status.st_size) <= limit else {
            throw ImageError(source: path, reason: .fileTooLarge(bytes: Int(status.st_size), limit: limit))
        }
        // Foundation 6.3 leaks a page whenever it reads an empty file.
        guard status.st_size > 0 else { return Data() }
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw ImageError(source: path, reason: .unreadable(String(cString: strerror(errno))))
        }
    }
}
