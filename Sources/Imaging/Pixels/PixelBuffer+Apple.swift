// Not compiled on Linux: CI checks the types against Tests/AppleStubs.
#if canImport(CoreVideo)
public import CoreVideo

extension PixelBuffer {
    /// The pixels of a camera or screen frame: 32-bit BGRA or RGBA without a copy, biplanar 4:2:0 converted.
    ///
    /// The color space and the matrix of luma are those that are attached to the frame; sRGB and BT.709 without any.
    /// High dynamic range is not tone mapped. The frame stays locked for reading as long as the buffer, or a copy of
    /// it, is in use.
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
                format: type == kCVPixelFormatType_32BGRA ? .bgra8 : .rgba8, colorSpace: Self.colorSpace(of: frame),
                release: unlock)
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
                encoding: YCbCrEncoding(matrix: Self.matrix(of: frame), range: isVideo ? .video : .full))
            colorSpace = Self.colorSpace(of: frame)
        default:
            unlock()
            throw .unknownFormat("\(type)")
        }
    }

    /// The color space that is attached to a frame; sRGB for none, and for those that have no name here.
    private static func colorSpace(of frame: CVPixelBuffer) -> PixelColorSpace {
        let primaries = attachment(kCVImageBufferColorPrimariesKey, of: frame)
        if primaries == kCVImageBufferColorPrimaries_P3_D65 as String { return .displayP3 }
        if primaries == kCVImageBufferColorPrimaries_ITU_R_2020 as String { return .bt2020 }
        guard let all = CVBufferCopyAttachments(frame, .shouldPropagate),
            let space = CVImageBufferCreateColorSpaceFromAttachments(all)?.takeRetainedValue(),
            let name = space.name as String?
        else { return .sRGB }
        if name == CGColorSpace.displayP3 as String { return .displayP3 }
        return name == CGColorSpace.adobeRGB1998 as String ? .adobeRGB : .sRGB
    }

    private static func matrix(of frame: CVPixelBuffer) -> YCbCrEncoding.Matrix {
        let matrix = attachment(kCVImageBufferYCbCrMatrixKey, of: frame)
        if matrix == kCVImageBufferYCbCrMatrix_ITU_R_601_4 as String { return .bt601 }
        return matrix == kCVImageBufferYCbCrMatrix_ITU_R_2020 as String ? .bt2020 : .bt709
    }

    private static func attachment(_ key: CFString, of frame: CVPixelBuffer) -> String? {
        CVBufferCopyAttachment(frame, key, nil) as? String
    }
}

#if compiler(>=6.2)
@available(macOS 26, iOS 26, *)
extension PixelBuffer {
    /// The pixels of a frame that nobody writes to, such as captured content; as for a `CVPixelBuffer`.
    ///
    /// - Throws: ``PixelBufferError`` for a frame of another pixel format.
    /// - Complexity: O(1), or O(pixels) for 4:2:0.
    public init(_ frame: CVReadOnlyPixelBuffer) throws(PixelBufferError) {
        self = try frame.withUnsafeBuffer { frame in
            Result { () throws(PixelBufferError) in try PixelBuffer(frame) }
        }.get()
    }
}
#endif
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
