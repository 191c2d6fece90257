/// A file format, detected from the first bytes; the file's extension is ignored.
enum ImageFormat {
    case png
    case jpeg

    init(of bytes: UnsafeRawBufferPointer) throws(ImageError.Reason) {
        if bytes.isEmpty { throw .empty }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else {
            throw .unsupported(Self.name(of: bytes))
        }
    }

    /// Names common other formats, for the error message.
    private static func name(of bytes: UnsafeRawBufferPointer) -> String {
        func has(_ text: String, at offset: Int = 0) -> Bool {
            bytes.dropFirst(offset).starts(with: text.utf8)
        }
        if has("GIF8") { return "a GIF" }
        if has("RIFF"), has("WEBP", at: 8) { return "a WebP" }
        if has("BM") { return "a BMP" }
        if has("II*\0") || has("MM\0*") { return "a TIFF" }
        if has("ftypheic", at: 4) || has("ftypheix", at: 4) || has("ftypmif1", at: 4) { return "a HEIC" }
        if has("ftypavif", at: 4) { return "an AVIF" }
        if has("%PDF") { return "a PDF" }
        if has("<svg") || has("<?xml") { return "an SVG or XML" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) || bytes.starts(with: [0xFF, 0xD8]) {
            return "cut off in its first bytes"
        }
        return "of no known image format"
    }
}

extension ImageError.Reason: Error {}
