import CImageCodecs

extension ImageDecoder {
    static func tiff(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        #if TIFF
            let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var header = lk_image_header()
            var reader: OpaquePointer?
            do throws(ImageError.Reason) {
                // libtiff's own tables take a little, whatever the limit.
                try check {
                    reader = lk_tiff_open(base, bytes.count, max(1 << 20, options.maximumMemory), &header, $0)
                    return reader != nil
                }
            } catch {
                guard header.is_unsupported, case .damaged(let words) = error else { throw error }
                throw .unsupported("a TIFF that libtiff does not convert (\(words))")
            }
            defer { lk_tiff_close(reader) }
            return try image(of: header, colors: header.colors, options: options) { pixels, stride, message in
                lk_tiff_decode(reader, pixels, stride, message)
            }
        #else
            throw .decoderMissing(format: "a TIFF", library: "libtiff", trait: "TIFF")
        #endif
    }
}
