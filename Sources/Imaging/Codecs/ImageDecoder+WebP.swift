import CImageCodecs

extension ImageDecoder {
    #if WebP
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
            // A first frame that does not cover its canvas, which is transparent elsewhere.
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
    #else
        static func webp(
            _ bytes: UnsafeRawBufferPointer, options: DecodingOptions
        ) throws(ImageError.Reason) -> PixelBuffer {
            throw .decoderMissing(format: "a WebP", library: "libwebp", trait: "WebP")
        }
    #endif
}
