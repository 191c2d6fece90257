public import Foundation

/// The samples of one component or two of an image: rows from the top, `bytesPerRow` bytes apart.
public struct PixelPlane: Sendable {
    let storage: PixelStorage
    /// The distance from a row to the next; nil for rows without padding.
    let bytesPerRow: Int?

    /// Keeps the rows in `data`, without a copy.
    ///
    /// - Parameter bytesPerRow: the distance from a row to the next; rows have no padding without it.
    public init(_ data: Data, bytesPerRow: Int? = nil) {
        storage = PixelStorage(data)
        self.bytesPerRow = bytesPerRow
    }

    /// Keeps the rows in `bytes`, without a copy.
    public init(_ bytes: [UInt8], bytesPerRow: Int? = nil) {
        storage = PixelStorage(bytes)
        self.bytesPerRow = bytesPerRow
    }

    /// Wraps memory of the caller without a copy.
    ///
    /// - Parameters:
    ///   - bytes: the rows; must stay valid and unchanged until `release` is called.
    ///   - release: called once, when the last copy of the plane is gone.
    public init(
        wrapping bytes: UnsafeRawBufferPointer, bytesPerRow: Int? = nil, release: @escaping @Sendable () -> Void = {}
    ) {
        storage = PixelStorage(bytes: bytes, release: release)
        self.bytesPerRow = bytesPerRow
    }

    /// Calls `body` with the memory and the distance between rows, once they are known to hold the samples.
    func withRows<Result>(
        of rowBytes: Int, count: Int, named name: String,
        _ body: (UnsafePointer<UInt8>, _ stride: Int) throws(PixelBufferError) -> Result
    ) throws(PixelBufferError) -> Result {
        let stride = bytesPerRow ?? rowBytes
        guard stride >= rowBytes else { throw .planeTooSmall(name, needed: rowBytes, given: stride) }
        let (before, overflow) = stride.multipliedReportingOverflow(by: count - 1)
        let (needed, lastOverflow) = before.addingReportingOverflow(rowBytes)
        guard !overflow, !lastOverflow, needed <= storage.count else {
            throw .planeTooSmall(name, needed: overflow || lastOverflow ? nil : needed, given: storage.count)
        }
        return try storage.withUnsafeBytes { bytes throws(PixelBufferError) in
            guard let base = bytes.baseAddress else { throw .planeTooSmall(name, needed: needed, given: 0) }
            return try body(base.assumingMemoryBound(to: UInt8.self), stride)
        }
    }
}

/// Pixels of red, green, blue and alpha with more than eight bits per component, in the byte order of the machine.
public enum DeepPixelFormat: String, Sendable, CaseIterable {
    /// 16-bit unsigned integers, 0...65,535.
    case rgba16
    /// 32-bit floats, 0...1; values outside are clipped, and what is not a number is 0.
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
    ///   - alpha: the meaning of the fourth component.
    ///   - colorSpace: the meaning of the other components.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or the memory is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        converting pixels: PixelPlane, from format: DeepPixelFormat, width: Int, height: Int,
        alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (rowBytes, overflow) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        guard !overflow else { throw .planeTooSmall("pixels", needed: nil, given: pixels.storage.count) }
        let bytes = try pixels.withRows(of: rowBytes, count: height, named: "pixels") { rows, stride in
            [UInt8](unsafeUninitializedCapacity: width * height * 4) { out, count in
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
