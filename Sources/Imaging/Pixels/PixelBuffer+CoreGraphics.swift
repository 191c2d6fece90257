#if canImport(CoreGraphics)
    import CoreGraphics

    extension PixelBuffer {
        /// Draws an image into 8-bit sRGB pixels.
        ///
        /// - Throws: ``PixelBufferError`` if the image has no pixels or cannot be drawn.
        /// - Complexity: O(pixels).
        public init(_ image: CGImage) throws(PixelBufferError) {
            let (width, height) = (image.width, image.height)
            guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
            let layout = CGImageAlphaInfo.premultipliedFirst.rawValue | CGBitmapInfo.byteOrder32Little.rawValue
            let bytes = [UInt8](unsafeUninitializedCapacity: width * height * 4) { buffer, count in
                guard let space = CGColorSpace(name: CGColorSpace.sRGB),
                    let context = CGContext(
                        data: buffer.baseAddress, width: width, height: height, bitsPerComponent: 8,
                        bytesPerRow: width * 4, space: space, bitmapInfo: layout)
                else { return }
                let all = CGRect(x: 0, y: 0, width: width, height: height)
                context.clear(all)
                context.draw(image, in: all)
                count = width * height * 4
            }
            try self.init(wrapping: bytes, width: width, height: height, format: .bgra8, alpha: .premultiplied)
        }
    }
#endif
