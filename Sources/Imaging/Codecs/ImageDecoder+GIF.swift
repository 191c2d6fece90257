import CImageCodecs

extension ImageDecoder {
    static func gif(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        #if GIF
            let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var header = lk_image_header()
            var reader: OpaquePointer?
            try check {
                reader = lk_gif_open(base, bytes.count, &header, $0)
                return reader != nil
            }
            defer { lk_gif_close(reader) }
            return try image(of: header, colors: .unspecified, options: options) { pixels, stride, message in
                lk_gif_decode(reader, pixels, stride, message)
            }
        #else
            throw .decoderMissing(format: "a GIF", library: "giflib", trait: "GIF")
        #endif
    }
}
