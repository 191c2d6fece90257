#if LK_WEBP
import CImageCodecs

extension ImageDecoder {
    static func webp(
        _ bytes: UnsafeRawBufferPointer, options: DecodingOptions
    ) throws(ImageError.Reason) -> PixelBuffer {
        let file = try WebPFile(bytes)
        let stream = UnsafeRawBufferPointer(rebasing: bytes[file.stream])
        let base = stream.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        try check { lk_webp_read_header(base, stream.count, &header, $0) }
        try checkSize(header, options: options)
        header.orientation = file.orientation
        guard let canvas = file.canvas, canvas != FrameCanvas(header) else {
            return try still(header, of: stream, file: file, options: options)
        }
        // The canvas is transparent where its first frame does not cover it.
        guard canvas.x + Int(header.width) <= canvas.width, canvas.y + Int(header.height) <= canvas.height else {
            throw .damaged("its first frame reaches outside its canvas")
        }
        var whole = header
        (whole.width, whole.height, whole.channels) = (UInt32(canvas.width), UInt32(canvas.height), 4)
        var frame = header
        frame.channels = 4
        return try image(of: whole, colors: file.colors, options: options) { pixels, stride, message in
            pixels.update(repeating: 0, count: stride * canvas.height)
            let first = pixels + canvas.y * stride + canvas.x * 4
            return lk_webp_decode(base, stream.count, &frame, first, stride, message)
        }
    }

    /// Decodes a still image, or a first frame that covers its canvas.
    private static func still(
        _ header: lk_image_header, of stream: UnsafeRawBufferPointer, file: WebPFile, options: DecodingOptions
    ) throws(ImageError.Reason) -> PixelBuffer {
        let full = (width: Int(header.width), height: Int(header.height))
        let eighths = Int(
            options.eighths(width: full.width, height: full.height, orientation: header.orientation))
        var header = header
        header.width = UInt32((full.width * eighths + 7) / 8)
        header.height = UInt32((full.height * eighths + 7) / 8)
        let base = stream.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return try image(of: header, colors: file.colors, size: full, options: options) { pixels, stride, message in
            lk_webp_decode(base, stream.count, &header, pixels, stride, message)
        }
    }
}

/// The size of an animation, and where its first frame lies in it.
private struct FrameCanvas: Equatable {
    var x = 0
    var y = 0
    var width: Int
    var height: Int

    init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// A frame that covers its canvas.
    init(_ header: lk_image_header) { self.init(x: 0, y: 0, width: Int(header.width), height: Int(header.height)) }
}

/// The chunks of a WebP file (RFC 9649, section 2).
private struct WebPFile {
    /// The bytes that libwebp decodes: the file, or the data of an animation's first frame.
    let stream: Range<Int>
    /// The canvas of an animation; nil for a still image.
    let canvas: FrameCanvas?
    let colors: EmbeddedColors
    /// The orientation by EXIF, 1...8.
    let orientation: UInt16

    /// - Throws: `damaged` for a file that ends early, or an animation without a frame.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError.Reason) {
        func number(_ at: Int, _ count: Int = 4) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
        }
        guard bytes.count >= 20, number(4) + 8 <= bytes.count else { throw .damaged("the file ends early") }
        let end = number(4) + 8
        var size: (width: Int, height: Int)?
        var isAnimated = false
        var stream: Range<Int>?
        var canvas: FrameCanvas?
        var colors = EmbeddedColors.unspecified
        var orientation: UInt16 = 1
        var at = 12
        while at + 8 <= end {
            let (body, length) = (at + 8, number(at + 4))
            guard length <= end - body else { break }
            switch String(decoding: bytes[at..<(at + 4)], as: UTF8.self) {
            case "VP8X" where length >= 10:
                isAnimated = bytes[body] & 0x02 != 0
                size = (number(body + 4, 3) + 1, number(body + 7, 3) + 1)
            case "ICCP":
                colors =
                    length <= EmbeddedColors.maximumProfileSize
                    ? .profile(Array(bytes[body..<(body + length)]))
                    : .broken("its color profile is ignored: it is larger than 16 MiB")
            case "EXIF":
                // Some writers keep the prefix that JPEG files have.
                let prefix = bytes[body..<(body + length)].starts(with: Array("Exif\0\0".utf8)) ? 6 : 0
                orientation = lk_exif_orientation(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: body + prefix),
                    length - prefix)
            case "ANMF" where length >= 16 && stream == nil:
                stream = (body + 16)..<(body + length)
                if let size {
                    canvas = FrameCanvas(
                        x: 2 * number(body, 3), y: 2 * number(body + 3, 3), width: size.width,
                        height: size.height)
                }
            default: break
            }
            at = body + length + length % 2
        }
        if isAnimated, stream == nil { throw .damaged("it has no frame") }
        self.stream = isAnimated ? stream ?? 0..<end : 0..<end
        self.canvas = isAnimated ? canvas : nil
        self.colors = colors
        self.orientation = orientation
    }
}
#endif
