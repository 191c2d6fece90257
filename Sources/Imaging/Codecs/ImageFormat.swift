import CImageCodecs

/// A format of image files: what it is called, how its files are named and begin, and what decodes them.
///
/// ``all`` is the table of formats; folders, error messages and shell completions go by it. The format of a file is
/// detected from its first bytes; the extension of its name is ignored.
public struct ImageFormat: Sendable {
    package typealias Decoder =
        @Sendable (UnsafeRawBufferPointer, DecodingOptions) throws(ImageError.Reason) -> PixelBuffer

    /// Bytes that files of a format begin with.
    package enum Signature: Hashable, Sendable {
        case bytes([UInt8])
        /// The form of a RIFF file.
        case riff(String)
        /// A brand of an ISO base media file (ISO/IEC 14496-12, section 4.3).
        case brand(String)
        /// A brand of images of any format. It counts if the file has no brand of a certain one.
        case commonBrand(String)

        static func ascii(_ text: String) -> Signature { .bytes(Array(text.utf8)) }
    }

    /// The name in sentences, such as “JPEG”.
    public let name: String
    /// The media type, such as `image/jpeg`.
    public let mediaType: String
    /// The extensions of file names, in lower case.
    public let fileExtensions: [String]
    /// The optional library that decodes the format, and the package's trait that enables it; nil for a format that
    /// every build decodes. A build decodes it if the trait is enabled and the library was installed.
    public let library: (name: String, trait: String)?
    /// A file begins with one of these.
    package let signatures: [Signature]
    /// Nil in a build without the library.
    package let decoder: Decoder?

    /// The formats that are decoded, some of them only in builds with an optional library.
    public static let all = [
        ImageFormat(
            name: "PNG", mediaType: "image/png", fileExtensions: ["png", "apng"], library: nil,
            signatures: [.bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])], decoder: ImageDecoder.png),
        ImageFormat(
            name: "JPEG", mediaType: "image/jpeg",
            fileExtensions: ["jpg", "jpeg", "jpe", "jfif", "jif", "jfi", "pjpeg", "pjp", "mpo"],
            library: nil, signatures: [.bytes([0xFF, 0xD8, 0xFF])], decoder: ImageDecoder.jpeg),
        ImageFormat(
            name: "WebP", mediaType: "image/webp", fileExtensions: ["webp"], library: ("libwebp", trait: "WebP"),
            signatures: [.riff("WEBP")], decoder: webp),
        ImageFormat(
            name: "HEIC", mediaType: "image/heic", fileExtensions: ["heic", "heif", "hif"],
            library: ("libheif", trait: "HEIF"),
            signatures: ["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs"].map { .brand($0) }
                + [.commonBrand("mif1"), .commonBrand("msf1")],
            decoder: heif),
        ImageFormat(
            name: "AVIF", mediaType: "image/avif", fileExtensions: ["avif"], library: ("libheif", trait: "HEIF"),
            signatures: [.brand("avif"), .brand("avis")], decoder: heif),
        ImageFormat(
            name: "GIF", mediaType: "image/gif", fileExtensions: ["gif"], library: ("giflib", trait: "GIF"),
            signatures: [.ascii("GIF87a"), .ascii("GIF89a")], decoder: gif),
        ImageFormat(
            name: "TIFF", mediaType: "image/tiff", fileExtensions: ["tif", "tiff"], library: ("libtiff", trait: "TIFF"),
            signatures: [.ascii("II*\0"), .ascii("MM\0*"), .ascii("II+\0"), .ascii("MM\0+")], decoder: tiff),
    ]

    // Decoders of the optional libraries. A format that needs no Swift code of its own has only its C functions here.

    #if LK_WEBP
    private static let webp: Decoder? = ImageDecoder.webp
    #else
    private static let webp: Decoder? = nil
    #endif

    #if LK_HEIF
    private static let heif: Decoder? = ImageDecoder.heif
    #else
    private static let heif: Decoder? = nil
    #endif

    #if LK_GIF
    private static let gif: Decoder? = { bytes, options throws(ImageError.Reason) in
        try ImageDecoder.image(
            in: bytes, options: options, open: lk_gif_open, decode: lk_gif_decode, close: lk_gif_close)
    }
    #else
    private static let gif: Decoder? = nil
    #endif

    #if LK_TIFF
    private static let tiff: Decoder? = { bytes, options throws(ImageError.Reason) in
        // libtiff's own tables take a little, whatever the limit.
        let memory = max(1 << 20, options.maximumMemory)
        return try ImageDecoder.image(
            in: bytes, options: options, unsupported: "a TIFF that libtiff does not convert",
            open: { lk_tiff_open($0, $1, memory, $2, $3) }, decode: lk_tiff_decode, close: lk_tiff_close)
    }
    #else
    private static let tiff: Decoder? = nil
    #endif
}

extension ImageFormat {
    /// Whether this build decodes the format.
    public var isDecoded: Bool { decoder != nil }

    #if LK_COLOR_MANAGEMENT
    /// Whether this build converts colors through ICC profiles with tables, with lcms2.
    package static let convertsByTables = true
    #else
    /// Whether this build converts colors through ICC profiles with tables, with lcms2.
    package static let convertsByTables = false
    #endif

    /// The extensions of the names of image files, in lower case. Files of formats that a build lacks are among them,
    /// and are errors then.
    package static let allFileExtensions = Set(all.flatMap(\.fileExtensions))

    /// The names of all formats in a sentence: “PNG, JPEG and GIF”.
    package static func list(conjunction: String) -> String {
        let names = all.map(\.name)
        return names.dropLast().joined(separator: ", ") + " \(conjunction) " + names.suffix(1).joined()
    }

    /// The format of a file.
    ///
    /// - Throws: `empty` or `unsupported`.
    package init(of bytes: UnsafeRawBufferPointer) throws(ImageError.Reason) {
        if bytes.isEmpty { throw .empty }
        let brands = Self.brands(of: bytes)
        let found =
            Self.first { signature in
                switch signature {
                case .bytes(let prefix): bytes.starts(with: prefix)
                case .riff(let form): bytes.starts(with: "RIFF".utf8) && bytes.dropFirst(8).starts(with: form.utf8)
                case .brand, .commonBrand: false
                }
            } ?? brands.lazy.compactMap { brand in Self.first { $0 == .brand(brand) } }.first
            ?? brands.lazy.compactMap { brand in Self.first { $0 == .commonBrand(brand) } }.first
        guard let found, !Self.isPNGOfApp(bytes) else {
            throw .unsupported(Self.otherImage(bytes) ?? Self.noImage(bytes) ?? "of no known image format")
        }
        self = found
    }

    /// What a file of any name is, by its first bytes.
    package enum Content {
        /// An image of a format in the table.
        case image
        /// An image of another format, which is named.
        case otherImage(String)
        case noImage
    }

    /// What a file is that begins with some bytes; 32 are enough.
    package static func content(_ bytes: UnsafeRawBufferPointer) -> Content {
        if (try? ImageFormat(of: bytes)) != nil { return .image }
        return otherImage(bytes).map { .otherImage($0) } ?? .noImage
    }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer {
        if let decoder { return try decoder(bytes, options) }
        let article = name.first.map("AEIO".contains) ?? false ? "an" : "a"
        throw .decoderMissing(
            format: "\(article) \(name)", library: library?.name ?? "a library", trait: library?.trait ?? name)
    }

    private static func first(where matches: (Signature) -> Bool) -> ImageFormat? {
        all.first { $0.signatures.contains(where: matches) }
    }

    /// The brands of an ISO base media file, the major one first.
    private static func brands(of bytes: UnsafeRawBufferPointer) -> [String] {
        guard bytes.count >= 12, bytes.dropFirst(4).starts(with: "ftyp".utf8) else { return [] }
        let size = Int(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        // The minor version lies between the major brand and the others.
        let places = [8] + Array(stride(from: 16, through: min(size, bytes.count, 1024) - 4, by: 4))
        return places.map { String(decoding: bytes[$0..<($0 + 4)], as: UTF8.self) }
    }

    /// Names common formats of images that are not decoded.
    private static func otherImage(_ bytes: UnsafeRawBufferPointer) -> String? {
        func has(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
        // Many texts begin so; the size of the second header tells them apart.
        let infoSize = bytes.count >= 18 ? bytes.loadUnaligned(fromByteOffset: 14, as: UInt32.self).littleEndian : 0
        if has("BM"), (12...124).contains(infoSize) { return "a BMP" }
        if bytes.starts(with: [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20]) || bytes.starts(with: [0xFF, 0x0A]) {
            return "a JPEG XL"
        }
        if has("\0\0\0\u{0C}jP  ") || bytes.starts(with: [0xFF, 0x4F, 0xFF, 0x51]) { return "a JPEG 2000" }
        if has("8BPS") { return "a Photoshop file" }
        if isPNGOfApp(bytes) { return "a PNG file of an iOS app (CgBI)" }
        if ["IIRO", "IIRS", "MMOR", "IIU\0", "FOVb", "FUJIFILMCCD-RAW", "\0MRM"].contains(where: has)
            || bytes.dropFirst(6).starts(with: "HEAPCCDR".utf8) || brands(of: bytes).first == "crx "
        {
            return "the raw data of a camera"
        }
        return nil
    }

    /// Whether it is a PNG file as Xcode writes them into apps: with another order of bytes, and without the header of
    /// its compressed data.
    private static func isPNGOfApp(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.dropFirst(1).starts(with: "PNG\r\n\u{1A}\n".utf8) && bytes.dropFirst(12).starts(with: "CgBI".utf8)
    }

    /// Names what is no image, or too little of one.
    private static func noImage(_ bytes: UnsafeRawBufferPointer) -> String? {
        func has(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
        if has("%PDF") { return "a PDF" }
        if has("BM") { return "a BMP" }
        if has("<svg") || has("<?xml") { return "an SVG or XML" }
        let isPNGOrJPEG = bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) || bytes.starts(with: [0xFF, 0xD8])
        if isPNGOrJPEG || bytes.count < 12 && (has("GIF8") || has("RIFF")) {
            return "cut off in its first bytes"
        }
        return nil
    }
}
