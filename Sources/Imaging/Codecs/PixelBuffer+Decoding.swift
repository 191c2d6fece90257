import Compute
public import Foundation

extension PixelBuffer {
    /// Decodes an image file of one of the formats of ``ImageFormat``: the first frame, or page.
    ///
    /// The image is turned upright, colors are converted to sRGB, and transparent pixels are composited over white, or
    /// over black or gray where the image would vanish in white. The result is `gray8` or `rgb8`. The format is
    /// detected from the file's bytes, not from its name. A color profile that cannot be used, and an end marker that
    /// is missing behind all pixels, are ignored, and ``decodingNotes`` says so. A page or a thumbnail that is marked
    /// as the preview of another image is not taken for that image.
    /// - Throws: ``ImageError`` with the path and the reason.
    public init(contentsOf url: URL, options: DecodingOptions = DecodingOptions()) throws(ImageError) {
        guard url.isFileURL else {
            throw ImageError(subject: url.absoluteString, reason: .unreadable(FileLocation.urlRefusal))
        }
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
            case .unreadable(let words):
                FileLocation.isURL(path)
                    ? .unreadable(FileLocation.urlRefusal)
                    : .unreadable(words)
            }
        throw ImageError(subject: path, reason: reason)
    }
}

/// Where an image is said to be.
package enum FileLocation {
    /// Why the image of a URL is not read.
    package static let urlRefusal = "it is a URL, and URLs are not downloaded; download the image and give its path"

    /// Whether a text begins like a URL (RFC 3986, section 3.1): the URLs that have no slashes are those with data.
    package static func isURL(_ text: String) -> Bool {
        let scheme = text.utf8.prefix { $0 != UInt8(ascii: ":") }
        let rest = text.utf8.dropFirst(scheme.count)
        let first = scheme.first.map { Unicode.Scalar($0).properties.isAlphabetic && $0 < 128 } ?? false
        let isScheme = scheme.allSatisfy { byte in
            let scalar = Unicode.Scalar(byte)
            return byte < 128 && (scalar.properties.isAlphabetic || "0123456789+-.".unicodeScalars.contains(scalar))
        }
        return first && isScheme
            && (rest.starts(with: "://".utf8) || scheme.elementsEqual("data".utf8) && rest.contains(UInt8(ascii: ",")))
    }
}
