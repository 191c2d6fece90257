#if canImport(CoreVideo)
public import CoreVideo

extension PixelBuffer {
    /// The pixels of a camera or screen frame: 32-bit BGRA or RGBA without a copy, biplanar 4:2:0 converted.
    ///
    /// The frame stays locked for reading as long as the buffer, or a copy of it, is in use.
    /// - Throws: ``PixelBufferError`` for a frame of another pixel format.
    /// - Complexity: O(1), or O(pixels) for 4:2:0.
    public init(_ frame: CVPixelBuffer) throws(PixelBufferError) {
        let (width, height) = (CVPixelBufferGetWidth(frame), CVPixelBufferGetHeight(frame))
        nonisolated(unsafe) let locked = frame
        CVPixelBufferLockBaseAddress(locked, .readOnly)
        @Sendable func unlock() { CVPixelBufferUnlockBaseAddress(locked, .readOnly) }
        let type = CVPixelBufferGetPixelFormatType(frame)
        switch type {
        case kCVPixelFormatType_32BGRA, kCVPixelFormatType_32RGBA:
            let stride = CVPixelBufferGetBytesPerRow(frame)
            try self.init(
                wrapping: UnsafeRawBufferPointer(
                    start: CVPixelBufferGetBaseAddress(frame), count: stride * height),
                width: width, height: height, bytesPerRow: stride,
                format: type == kCVPixelFormatType_32BGRA ? .bgra8 : .rgba8, release: unlock)
        case kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, kCVPixelFormatType_420YpCbCr8BiPlanarFullRange:
            defer { unlock() }
            func plane(_ index: Int) -> PixelPlane {
                let stride = CVPixelBufferGetBytesPerRowOfPlane(frame, index)
                return PixelPlane(
                    wrapping: UnsafeRawBufferPointer(
                        start: CVPixelBufferGetBaseAddressOfPlane(frame, index),
                        count: stride * CVPixelBufferGetHeightOfPlane(frame, index)), bytesPerRow: stride)
            }
            let isVideo = type == kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
            try self.init(
                nv12: plane(0), chroma: plane(1), width: width, height: height,
                encoding: YCbCrEncoding(matrix: .bt709, range: isVideo ? .video : .full))
        default:
            unlock()
            throw .unknownFormat("\(type)")
        }
    }
}
#endif

#if canImport(CoreGraphics)
public import CoreGraphics

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
