import CImageCodecs
import Foundation

extension PixelBuffer {
    /// Decodes a PNG or JPEG file. The EXIF orientation is applied, and transparent pixels are composited over white.
    ///
    /// The result is `gray8` or `rgb8`. The format is detected from the file's bytes, not from its name.
    /// - Throws: ``ImageError`` with the path and the reason.
    public init(contentsOf url: URL, options: DecodingOptions = DecodingOptions()) throws(ImageError) {
        let path = url.path
        let data = try ImageFile.read(path: path, limit: options.maximumByteCount)
        try self.init(decoding: data, named: path, options: options)
    }

    /// Decodes the bytes of a PNG or JPEG file.
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
                }
            }
        }
        self = try decoded.mapError { ImageError(source: name, reason: $0) }.get()
    }
}

/// Reads whole files. Not mapped: a file that shrinks while it is mapped kills the process.
package enum ImageFile {
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

enum ImageDecoder {
    typealias Message = UnsafeMutablePointer<CChar>

    static func png(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        var reader: OpaquePointer?
        try check {
            reader = lk_png_open(base, bytes.count, &header, $0)
            return reader != nil
        }
        defer { lk_png_close(reader) }
        try checkLimits(header, options: options)
        let decoded = try pixels(of: header) { pixels, stride, message in
            lk_png_decode(reader, pixels, stride, message)
        }
        return try opaque(decoded, header: header)
    }

    static func jpeg(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        try check { lk_jpeg_read_header(base, bytes.count, &header, $0) }
        // Of the full size, whatever the scale: its scans are read as a whole.
        try checkSize(header, options: options)
        let full = (width: Int(header.width), height: Int(header.height))
        let eighths = options.eighths(width: Int(header.width), height: Int(header.height))
        if eighths != 8 { try check { lk_jpeg_scaled_header(base, bytes.count, eighths, &header, $0) } }
        let orientation = ImageOrientation(exif: header.orientation)
        try checkLimits(header, copies: orientation.movesPixels ? 2 : 1, options: options)
        let scans = UInt32(clamping: options.maximumScanCount)
        let decoded = try pixels(of: header) { pixels, stride, message in
            lk_jpeg_decode(base, bytes.count, eighths, &header, scans, pixels, stride, message)
        }
        let opaque = try opaque(decoded, header: header)
        var image = try orientation.upright(opaque)
        image.sourceSize = orientation.swapsAxes ? (full.height, full.width) : full
        return image
    }

    private static func check(_ call: (Message) -> Bool) throws(ImageError.Reason) {
        let words: String? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(LK_CODEC_MESSAGE_LENGTH)) {
            message in
            message.initialize(repeating: 0)
            guard let base = message.baseAddress, !call(base) else { return nil }
            return String(cString: base)
        }
        if let words { throw .damaged(words) }
    }

    private static func checkSize(_ header: lk_image_header, options: DecodingOptions) throws(ImageError.Reason) {
        let (width, height) = (Int(header.width), Int(header.height))
        guard width > 0, height > 0 else { throw .damaged("it has no pixels") }
        let (count, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, count <= options.maximumPixelCount else {
            throw .tooManyPixels(width: width, height: height, limit: options.maximumPixelCount)
        }
        guard max(width, height) <= options.maximumSide else {
            throw .sideTooLong(width: width, height: height, limit: options.maximumSide)
        }
    }

    /// - Parameter copies: how many times the pixels are in memory at once.
    private static func checkLimits(
        _ header: lk_image_header, copies: Int = 1, options: DecodingOptions
    ) throws(ImageError.Reason) {
        try checkSize(header, options: options)
        guard Int(header.scans) <= options.maximumScanCount else {
            throw .tooManyScans(count: Int(header.scans), limit: options.maximumScanCount)
        }
        // Both sides have 31 bits at most, and the product is within the limit on pixels.
        let (pixels, overflow) = (Int(header.width) * Int(header.height))
            .multipliedReportingOverflow(by: Int(header.channels) * copies)
        let (bytes, overflowToo) = pixels.addingReportingOverflow(Int(header.working_bytes))
        guard !overflow, !overflowToo, bytes <= options.maximumMemory else {
            throw .tooMuchMemory(bytes: overflow || overflowToo ? .max : bytes, limit: options.maximumMemory)
        }
    }

    private static func pixels(
        of header: lk_image_header, decode: (UnsafeMutablePointer<UInt8>, Int, Message) -> Bool
    ) throws(ImageError.Reason) -> UnsafeMutableRawBufferPointer {
        let stride = Int(header.width) * Int(header.channels)
        let count = stride * Int(header.height)
        // malloc, since Swift's own allocation ends the process when there is no memory.
        guard let memory = aligned_alloc(64, (count + 63) / 64 * 64) else { throw .outOfMemory(bytes: count) }
        let bytes = UnsafeMutableRawBufferPointer(start: memory, count: count)
        do throws(ImageError.Reason) {
            try check { decode(memory.assumingMemoryBound(to: UInt8.self), stride, $0) }
        } catch {
            free(memory)
            throw error
        }
        return bytes
    }

    /// Gray or RGB from the decoder's output, composited over white. In place: a pixel only shrinks.
    private static func opaque(
        _ memory: UnsafeMutableRawBufferPointer, header: lk_image_header
    ) throws(ImageError.Reason) -> PixelBuffer {
        let count = Int(header.width) * Int(header.height)
        let pixels = memory.bindMemory(to: UInt8.self)
        if header.is_cmyk {
            InkConversion.rgb(fromCMYK: pixels, count: count, inverted: header.is_inverted)
        } else if header.channels == 4 || header.channels == 2 {
            AlphaCompositing.overWhite(pixels, count: count, colors: Int(header.channels) - 1)
        }
        let address = UInt(bitPattern: memory.baseAddress)
        let storage = PixelStorage(bytes: UnsafeRawBufferPointer(memory)) {
            free(UnsafeMutableRawPointer(bitPattern: address))
        }
        do {
            return try PixelBuffer(
                storage: storage, width: Int(header.width), height: Int(header.height), bytesPerRow: nil,
                format: header.channels <= 2 ? .gray8 : .rgb8, alpha: .ignored)
        } catch {
            throw .damaged(error.description)
        }
    }
}
