import CImageCodecs
import Foundation

/// The steps that the decoders of all formats share: limits, memory, colors, orientation.
enum ImageDecoder {
    typealias Message = UnsafeMutablePointer<CChar>

    /// Decodes an image whose header is known.
    ///
    /// - Parameters:
    ///   - size: the size of the image in its file, as it is stored; nil for the header's.
    ///   - decode: fills rows of the header's size and channels.
    ///   - decoded: corrects the header by what decoding has found out: sides that were exchanged, or a note.
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
        let opaque = opaque(memory, header: found, colors: colors)
        var image = try orientation.upright(opaque)
        image.decodingNotes = opaque.decodingNotes
        if let size {
            let isTurned = orientation.swapsAxes != (found.width != header.width)
            image.sourceSize = isTurned ? (size.height, size.width) : size
        }
        return image
    }

    /// Decodes a file with a reader in C: opens it, which fills the header, decodes once, and closes it.
    ///
    /// - Parameters:
    ///   - unsupported: what a file is that the library cannot read although it is sound; for the error message.
    ///   - note: what is odd about the file, once it is decoded.
    ///   - colors: returns what the file says about its colors, and may complete the header.
    static func image(
        in bytes: UnsafeRawBufferPointer, options: DecodingOptions, unsupported: String = "unsupported",
        open: (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<lk_image_header>?, Message?) -> OpaquePointer?,
        decode: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, Int, Message?) -> Bool,
        close: (OpaquePointer?) -> Void, note: ((OpaquePointer?) -> UnsafePointer<CChar>?)? = nil,
        colors: (inout lk_image_header) -> EmbeddedColors = { $0.colors }
    ) throws(ImageError.Reason) -> PixelBuffer {
        var header = lk_image_header()
        var reader: OpaquePointer?
        do throws(ImageError.Reason) {
            try check {
                reader = open(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &header, $0)
                return reader != nil
            }
        } catch {
            throw header.is_unsupported ? error.ofSoundFile(unsupported) : error
        }
        defer { close(reader) }
        try checkSize(header, options: options)
        let colors = colors(&header)
        return try image(of: header, colors: colors, options: options) {
            decode(reader, $0, $1, $2)
        } decoded: {
            if let note { $0.note = note(reader) }
        }
    }

    /// Calls a function of C that returns false with a message if the file is damaged.
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

    /// Gray or RGB in sRGB from the decoder's output, composited over a ground that contrasts. In place: a pixel only
    /// shrinks.
    private static func opaque(
        _ memory: UnsafeMutableRawBufferPointer, header: lk_image_header, colors: EmbeddedColors
    ) -> PixelBuffer {
        let count = Int(header.width) * Int(header.height)
        let pixels = memory.bindMemory(to: UInt8.self)
        var header = header
        // Colors that are multiplied with alpha have a meaning only over their background.
        var notes = header.note.map { [String(cString: $0)] } ?? []
        if header.is_premultiplied { flatten(pixels, header: &header, notes: &notes) }
        var isRGB = false
        do throws(ColorConversion.Ignored) {
            let conversion = try ColorConversion(
                colors, for: header.is_cmyk ? .cmyk : header.channels <= 2 ? .gray : .rgb)
            if let base = pixels.baseAddress { isRGB = try conversion.convert(base, of: header) }
        } catch {
            notes.append(error.note)
        }
        if header.is_cmyk {
            if !isRGB { InkConversion.rgb(fromCMYK: pixels, count: count, inverted: header.is_inverted) }
        } else if header.channels == 4 || header.channels == 2 {
            flatten(pixels, header: &header, notes: &notes)
        }
        var image = PixelBuffer(
            owning: memory, width: Int(header.width), height: Int(header.height),
            format: header.channels <= 2 ? .gray8 : .rgb8, release: { free($0) })
        image.decodingNotes = notes
        return image
    }

    /// Composites pixels with alpha in place, and removes it from the header.
    private static func flatten(
        _ pixels: UnsafeMutableBufferPointer<UInt8>, header: inout lk_image_header, notes: inout [String]
    ) {
        let (width, height, colors) = (Int(header.width), Int(header.height), Int(header.channels) - 1)
        let contrast = GroundContrast(width: width, height: height, isPremultiplied: header.is_premultiplied) { x, y in
            let at = (y * width + x) * (colors + 1)
            let (r, g, b) = (pixels[at], pixels[at + colors / 2], pixels[at + colors - 1])
            return (min(r, g, b), max(r, g, b), pixels[at + colors])
        }
        if !contrast.isVisible { notes.append("it is transparent: nothing is to be seen in it") }
        AlphaCompositing.flatten(
            pixels, count: width * height, colors: colors, isPremultiplied: header.is_premultiplied,
            ground: contrast.ground)
        header.is_premultiplied = false
        header.channels -= 1
    }
}

extension ImageError.Reason {
    /// What a library says about a file that it does not read although it is sound.
    ///
    /// - Parameter kind: what the file is.
    func ofSoundFile(_ kind: String) -> ImageError.Reason {
        if case .damaged(let words) = self { .unsupported("\(kind) (\(words))") } else { self }
    }
}

extension lk_image_header {
    /// The colors that the reader found in the file. A profile counts more than code points.
    var colors: EmbeddedColors {
        if profile_count > EmbeddedColors.maximumProfileSize {
            return .broken("its color profile is ignored: it is larger than 16 MiB")
        }
        if let profile { return .profile(Array(UnsafeBufferPointer(start: profile, count: profile_count))) }
        return has_code_points ? .codePoints(primaries: Int(primaries), transfer: Int(transfer)) : .unspecified
    }
}

extension PixelBuffer {
    /// The image as in a mirror, left and right exchanged. O(pixels).
    ///
    /// - Throws: `ImageError` if there is no memory for it.
    package func mirrored() throws(ImageError) -> PixelBuffer {
        do throws(ImageError.Reason) {
            return try ImageOrientation(exif: 2).upright(self)
        } catch {
            throw ImageError(subject: "the mirrored image", reason: error)
        }
    }
}

/// How to turn a stored image upright: the eight values of EXIF's Orientation tag (EXIF 2.32, section 4.6.4).
struct ImageOrientation {
    /// Whether width and height are exchanged.
    let swapsAxes: Bool
    private let flipsX: Bool
    private let flipsY: Bool

    /// In the upright image, pixel (x, y) is the stored pixel (column, row), where the axes are first swapped and then
    /// flipped.
    init(exif: UInt16) {
        swapsAxes = (5...8).contains(exif)
        flipsX = [2, 3, 7, 8].contains(exif)
        flipsY = [3, 4, 6, 7].contains(exif)
    }

    /// Whether the upright image differs from the stored one.
    var movesPixels: Bool { swapsAxes || flipsX || flipsY }

    /// The image turned upright; itself if no pixel moves.
    ///
    /// - Throws: `outOfMemory`.
    func upright(_ image: PixelBuffer) throws(ImageError.Reason) -> PixelBuffer {
        guard movesPixels else { return image }
        let bytes = image.format.bytesPerPixel
        let width = swapsAxes ? image.height : image.width
        let height = swapsAxes ? image.width : image.height
        let count = width * height * bytes
        // malloc, since Swift's own allocation ends the process when there is no memory.
        guard let memory = malloc(count) else { throw .outOfMemory(bytes: count) }
        let turned = UnsafeMutableRawBufferPointer(start: memory, count: count)
        image.withUnsafeBytes { source in
            for y in 0..<height {
                for x in 0..<width {
                    var (column, row) = swapsAxes ? (y, x) : (x, y)
                    if flipsX { column = image.width - 1 - column }
                    if flipsY { row = image.height - 1 - row }
                    let from = row * image.bytesPerRow + column * bytes
                    let to = (y * width + x) * bytes
                    for byte in 0..<bytes { turned[to + byte] = source[from + byte] }
                }
            }
        }
        return PixelBuffer(
            owning: turned, width: width, height: height, format: image.format, alpha: image.alpha,
            colorSpace: image.colorSpace, release: { free($0) })
    }
}
