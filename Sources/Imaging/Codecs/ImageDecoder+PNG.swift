import CImageCodecs

extension ImageDecoder {
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
        try checkSize(header, options: options)
        let chunks = PNGChunks(bytes)
        header.orientation = chunks.orientation
        return try image(of: header, colors: chunks.colors, options: options) { pixels, stride, message in
            lk_png_decode(reader, pixels, stride, message)
        }
    }
}
