/// A file format, detected from the first bytes; the file's extension is ignored.
enum ImageFormat {
    case png
    case jpeg
    case webp
    case heic
    case avif
    case gif
    case tiff

    init(of bytes: UnsafeRawBufferPointer) throws(ImageError.Reason) {
        if bytes.isEmpty { throw .empty }
        func has(_ text: String, at offset: Int = 0) -> Bool {
            bytes.dropFirst(offset).starts(with: text.utf8)
        }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if has("RIFF"), has("WEBP", at: 8) {
            self = .webp
        } else if has("GIF87a") || has("GIF89a") {
            self = .gif
        } else if has("II*\0") || has("MM\0*") || has("II+\0") || has("MM\0+") {
            self = .tiff
        } else if has("ftyp", at: 4), let format = Self.brand(of: bytes) {
            self = format
        } else {
            throw .unsupported(Self.name(of: bytes))
        }
    }

    /// HEIC or AVIF by the file's brands: the major one, or the first that is known (ISO/IEC 14496-12, section 4.3).
    private static func brand(of bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        guard bytes.count >= 12 else { return nil }
        let size = Int(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        var isImage = false
        // The minor version lies between the major brand and the others.
        for at in [8] + Array(stride(from: 16, through: min(size, bytes.count, 1024) - 4, by: 4)) {
            switch String(decoding: bytes[at..<(at + 4)], as: UTF8.self) {
            case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs": return .heic
            case "avif", "avis": return .avif
            case "mif1", "msf1": isImage = true
            default: break
            }
        }
        return isImage ? .heic : nil
    }

    /// Names common other formats, for the error message.
    private static func name(of bytes: UnsafeRawBufferPointer) -> String {
        func has(_ text: String, at offset: Int = 0) -> Bool {
            bytes.dropFirst(offset).starts(with: text.utf8)
        }
        if has("BM") { return "a BMP" }
        if bytes.starts(with: [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20]) || bytes.starts(with: [0xFF, 0x0A]) {
            return "a JPEG XL"
        }
        if has("\0\0\0\u{0C}jP  ") { return "a JPEG 2000" }
        if has("%PDF") { return "a PDF" }
        if has("<svg") || has("<?xml") { return "an SVG or XML" }
        let isBeginning = [[0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8], Array("GIF8".utf8), Array("RIFF".utf8)]
            .contains { bytes.starts(with: $0) }
        if isBeginning && bytes.count < 12 || bytes.starts(with: [0x89, 0x50, 0x4E, 0x47])
            || bytes.starts(with: [0xFF, 0xD8])
        {
            return "cut off in its first bytes"
        }
        return "of no known image format"
    }
}

extension ImageError.Reason: Error {}
