import CImageCodecs

extension ImageDecoder {
    static func jpeg(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        try check { lk_jpeg_read_header(base, bytes.count, &header, $0) }
        // Of the full size, whatever the scale: its scans are read as a whole.
        try checkSize(header, options: options)
        let full = (width: Int(header.width), height: Int(header.height))
        let eighths = options.eighths(width: full.width, height: full.height, orientation: header.orientation)
        if eighths != 8 { try check { lk_jpeg_scaled_header(base, bytes.count, eighths, &header, $0) } }
        let scans = UInt32(clamping: options.maximumScanCount)
        let colors = JPEGProfile.colors(of: bytes)
        return try image(of: header, colors: colors, size: full, options: options) { pixels, stride, message in
            lk_jpeg_decode(base, bytes.count, eighths, &header, scans, pixels, stride, message)
        }
    }
}
