import Compute
public import Foundation

extension PixelBuffer {
    /// Decodes an image file of one of the formats of ``ImageFormat``: the first frame, or page.
    ///
    /// The image is turned upright, colors are converted to sRGB, and transparent pixels are composited over white. The
    /// result is `gray8` or `rgb8`. The format is detected from the file's bytes, not from its name. A color profile
    /// that cannot be used is ignored, and ``decodingNotes`` says so.
    /// - Throws: ``ImageError`` with the path and the reason.
    public init(contentsOf url: URL, options: DecodingOptions = DecodingOptions()) throws(ImageError) {
        let data = try contents(ofImageFile: url.path, limit: options.maximumByteCount)
        try self.init(decoding: data, named: url.path, options: options)
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
                try ImageFormat(of: bytes).decode(bytes, options: options)
            }
        }
        self = try decoded.mapError { ImageError(subject: name, reason: $0) }.get()
    }
}

/// The bytes of an image file.
package func contents(ofImageFile path: String, limit: Int) throws(ImageError) -> Data {
    do {
        return try contents(ofFile: path, limit: limit)
    } catch {
        let reason: ImageError.Reason =
            switch error {
            case .notAFile: .notAFile
            case .tooLarge(let bytes, let limit): .fileTooLarge(bytes: bytes, limit: limit)
            case .outOfMemory(let bytes): .outOfMemory(bytes: bytes)
            case .unreadable(let words): .unreadable(words)
            }
        throw ImageError(subject: path, reason: reason)
    }
}
