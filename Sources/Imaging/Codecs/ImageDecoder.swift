import CImageCodecs
import Foundation

/// What the decoders of all formats share: limits, memory, colors, orientation.
enum ImageDecoder {
    typealias Message = UnsafeMutablePointer<CChar>

    /// Decodes an image whose header is known.
    ///
    /// - Parameters:
    ///   - size: of the image in its file, as it is stored; that of the header without it.
    ///   - decode: fills rows of the header's size and channels.
    ///   - decoded: corrects the header by what decoding has found out: sides that were exchanged.
    static func image(
        of header: lk_image_header, colors: EmbeddedColors, size: (width: Int, height: Int)? = nil,
        options: DecodingOptions, decode: (UnsafeMutablePointer<UInt8>, Int, Message) -> Bool,
        decoded: (inout lk_image_header) -> Void = { _ in }
    ) throws(ImageError.Reason) -> PixelBuffer {
        let orientation = ImageOrientation(exif: header.orientation)
        try checkLimits(header, copies: orientation.movesPixels ? 2 : 1, options: options)
        let memory = try pixels(of: header, decode: decode)
        var found = header
        decoded(&found)
        let opaque = try opaque(memory, header: found, colors: colors)
        var image = try orientation.upright(opaque)
        image.decodingNotes = opaque.decodingNotes
        if let size {
            let isTurned = orientation.swapsAxes != (found.width != header.width)
            image.sourceSize = isTurned ? (size.height, size.width) : size
        }
        return image
    }

    static func check(_ call: (Message) -> Bool) throws(ImageError.Reason) {
        let words: String? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(LK_CODEC_MESSAGE_LENGTH)) {
            message in
            message.initialize(repeating: 0)
            guard let base = message.baseAddress, !call(base) else { return nil }
            return String(cString: base)
        }
        if let words { throw .damaged(words) }
    }

    static func checkSize(_ header: lk_image_header, options: DecodingOptions) throws(ImageError.Reason) {
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
        let (bytes, overflowToo) = pixels.addingReportingOverflow(Int(clamping: header.working_bytes))
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

    /// Gray or RGB in sRGB from the decoder's output, composited over white. In place: a pixel only shrinks.
    private static func opaque(
        _ memory: UnsafeMutableRawBufferPointer, header: lk_image_header, colors: EmbeddedColors
    ) throws(ImageError.Reason) -> PixelBuffer {
        let count = Int(header.width) * Int(header.height)
        let pixels = memory.bindMemory(to: UInt8.self)
        var header = header
        // With alpha in the colors they have a meaning only over their background.
        if header.is_premultiplied {
            AlphaCompositing.premultipliedOverWhite(pixels, count: count, colors: Int(header.channels) - 1)
            header.channels -= 1
        }
        var notes: [String] = []
        var isRGB = false
        do throws(ColorConversion.Ignored) {
            let conversion = try ColorConversion(
                colors, for: header.is_cmyk ? .cmyk : header.channels <= 2 ? .gray : .rgb)
            if let base = pixels.baseAddress { isRGB = try conversion.convert(base, of: header) }
        } catch {
            notes = [error.note]
        }
        if header.is_cmyk {
            if !isRGB { InkConversion.rgb(fromCMYK: pixels, count: count, inverted: header.is_inverted) }
        } else if header.channels == 4 || header.channels == 2 {
            AlphaCompositing.overWhite(pixels, count: count, colors: Int(header.channels) - 1)
        }
        let address = UInt(bitPattern: memory.baseAddress)
        let storage = PixelStorage(bytes: UnsafeRawBufferPointer(memory)) {
            free(UnsafeMutableRawPointer(bitPattern: address))
        }
        do {
            var image = try PixelBuffer(
                storage: storage, width: Int(header.width), height: Int(header.height), bytesPerRow: nil,
                format: header.channels <= 2 ? .gray8 : .rgb8, alpha: .ignored)
            image.decodingNotes = notes
            return image
        } catch {
            throw .damaged(error.description)
        }
    }
}
