/// Pixels of red, green, blue and alpha with more than eight bits per component, in the byte order of the machine.
public enum DeepPixelFormat: String, Sendable, CaseIterable {
    /// 16-bit unsigned integers, 0...65,535.
    case rgba16
    /// 32-bit floats, 0...1; what is outside is clipped, and what is not a number is 0.
    case rgbaFloat

    /// The bytes of four components.
    public var bytesPerPixel: Int { self == .rgba16 ? 8 : 16 }
}

extension PixelBuffer {
    /// Converts pixels with 16-bit or float components to eight bits, rounded to nearest. Networks and keypoints see no
    /// more.
    ///
    /// ```swift
    /// let image = try PixelBuffer(
    ///     converting: PixelPlane(data), from: .rgbaFloat, width: 640, height: 480, alpha: .straight)
    /// ```
    ///
    /// The components have the transfer function of 8-bit images; linear light has to be encoded before.
    /// - Parameters:
    ///   - pixels: the rows, with their distance.
    ///   - alpha: what the fourth component means.
    ///   - colorSpace: what the other components mean.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or the memory is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        converting pixels: PixelPlane, from format: DeepPixelFormat, width: Int, height: Int,
        alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (rowBytes, overflow) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        guard !overflow else { throw .planeTooSmall("pixels", needed: nil, given: pixels.storage.count) }
        var bytes: [UInt8] = []
        try pixels.withRows(of: rowBytes, count: height, named: "pixels") { rows, stride in
            bytes = [UInt8](unsafeUninitializedCapacity: width * height * 4) { out, count in
                for y in 0..<height {
                    let row = UnsafeRawPointer(rows + y * stride)
                    for x in 0..<(width * 4) {
                        out[y * width * 4 + x] =
                            switch format {
                            case .rgba16: Self.byte(row.loadUnaligned(fromByteOffset: 2 * x, as: UInt16.self))
                            case .rgbaFloat: Self.byte(row.loadUnaligned(fromByteOffset: 4 * x, as: Float.self))
                            }
                    }
                }
                count = width * height * 4
            }
        }
        try self.init(
            wrapping: bytes, width: width, height: height, format: .rgba8, alpha: alpha, colorSpace: colorSpace)
    }

    @inline(__always)
    private static func byte(_ value: UInt16) -> UInt8 { UInt8((UInt32(value) * 255 + 32_767) / 65_535) }

    @inline(__always)
    private static func byte(_ value: Float) -> UInt8 { value > 0 ? UInt8(min(value, 1) * 255 + 0.5) : 0 }
}
