import CImageCodecs

extension ImageDecoder {
    static func jpeg(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        do throws(ImageError.Reason) {
            try check { lk_jpeg_read_header(base, bytes.count, &header, $0) }
        } catch {
            throw header.is_unsupported ? error.ofSoundFile("a JPEG of a kind that libjpeg-turbo does not read") : error
        }
        // The full size counts, whatever the scale: scans are read as a whole.
        try checkSize(header, options: options)
        let full = (width: Int(header.width), height: Int(header.height))
        let eighths = options.eighths(width: full.width, height: full.height, orientation: header.orientation)
        if eighths != 8 { try check { lk_jpeg_scaled_header(base, bytes.count, eighths, &header, $0) } }
        let scans = UInt32(clamping: options.maximumScanCount)
        let colors = JPEGProfile.colors(of: bytes)
        var note: UnsafePointer<CChar>?
        return try image(of: header, colors: colors, size: full, options: options) { pixels, stride, message in
            lk_jpeg_decode(base, bytes.count, eighths, &header, scans, pixels, stride, &note, message)
        } decoded: {
            $0.note = note
        }
    }
}

/// The ICC profile of a JPEG file, in parts of up to 64 KB (ICC.1:2022, annex B.4).
private enum JPEGProfile {
    private static let name = Array("ICC_PROFILE\0".utf8)

    static func colors(of bytes: UnsafeRawBufferPointer) -> EmbeddedColors {
        var parts: [Int: Range<Int>] = [:]
        var count = 0
        var at = 2
        // Segments up to the first scan.
        while at + 4 <= bytes.count, bytes[at] == 0xFF {
            let marker = bytes[at + 1]
            if marker == 0xFF {
                at += 1
                continue
            }
            let end = at + 2 + (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
            guard marker != 0xDA, end > at + 3, end <= bytes.count else { break }
            if marker == 0xE2, end - at >= 18, bytes[(at + 4)..<end].starts(with: name) {
                count = Int(bytes[at + 17])
                parts[Int(bytes[at + 16])] = (at + 18)..<end
            }
            at = end
        }
        if parts.isEmpty { return .unspecified }
        var profile: [UInt8] = []
        for number in 1...max(1, count) {
            guard let part = parts[number] else {
                return .broken("its color profile is ignored: part \(number) of \(count) is missing")
            }
            profile += bytes[part]
        }
        return .profile(profile)
    }
}
