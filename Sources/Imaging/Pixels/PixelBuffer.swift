/// A rectangle of 8-bit pixels in memory: rows from the top, `bytesPerRow` bytes apart.
///
/// A buffer owns its bytes, or wraps the caller's without a copy. It is immutable; share it between tasks.
public struct PixelBuffer: Sendable {
    /// In pixels, at least 1.
    public let width: Int
    /// In pixels, at least 1.
    public let height: Int
    /// The distance from a row to the next, at least `width * format.bytesPerPixel`.
    public let bytesPerRow: Int
    /// The order and number of the components of a pixel.
    public let format: PixelFormat
    /// The meaning of the fourth byte; `ignored` for formats without one.
    public let alpha: AlphaMode

    /// The size of the image in its file, which is larger after a reduced-size decode; else that of the buffer.
    public internal(set) var sourceSize: (width: Int, height: Int)

    let storage: PixelStorage

    /// Wraps memory of the caller without a copy.
    ///
    /// - Parameters:
    ///   - bytes: the rows; must stay valid and unchanged until `release` is called.
    ///   - release: called once, when the last copy of the buffer is gone.
    /// - Throws: ``PixelBufferError`` when the shape does not fit the memory. `release` is then
    ///   called as well.
    public init(
        wrapping bytes: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int? = nil,
        format: PixelFormat, alpha: AlphaMode = .premultiplied,
        release: @escaping @Sendable () -> Void = {}
    ) throws(PixelBufferError) {
        let storage = PixelStorage(bytes: bytes, release: release)
        try self.init(
            storage: storage, width: width, height: height, bytesPerRow: bytesPerRow, format: format, alpha: alpha)
    }

    /// Copies `bytes`.
    ///
    /// - Throws: ``PixelBufferError`` when the shape does not fit the bytes.
    public init(
        _ bytes: [UInt8], width: Int, height: Int, bytesPerRow: Int? = nil,
        format: PixelFormat, alpha: AlphaMode = .premultiplied
    ) throws(PixelBufferError) {
        try self.init(
            storage: PixelStorage(copying: bytes), width: width, height: height,
            bytesPerRow: bytesPerRow, format: format, alpha: alpha)
    }

    init(
        storage: PixelStorage, width: Int, height: Int, bytesPerRow: Int?,
        format: PixelFormat, alpha: AlphaMode
    ) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (rowBytes, rowOverflow) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        let stride = bytesPerRow ?? rowBytes
        guard !rowOverflow, stride >= rowBytes else {
            throw .rowTooShort(bytesPerRow: stride, width: width, format: format)
        }
        let (before, overflow) = stride.multipliedReportingOverflow(by: height - 1)
        let (needed, lastOverflow) = before.addingReportingOverflow(rowBytes)
        guard !overflow, !lastOverflow, needed <= storage.bytes.count else {
            throw .tooFewBytes(needed: overflow || lastOverflow ? nil : needed, given: storage.bytes.count)
        }
        self.width = width
        self.height = height
        sourceSize = (width, height)
        self.bytesPerRow = stride
        self.format = format
        self.alpha = format.hasAlpha ? alpha : .ignored
        self.storage = storage
    }

    /// Calls `body` with the rows. The pointer is valid only during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(storage) { () throws(Failure) -> Result in try body(storage.bytes) }
    }
}

/// Why memory and a shape are not a pixel buffer.
public enum PixelBufferError: Error, Equatable, CustomStringConvertible {
    /// A side is not positive, or a region lies outside the image.
    case emptyShape(width: Int, height: Int)
    /// The rows overlap: `bytesPerRow` is less than the bytes of `width` pixels.
    case rowTooShort(bytesPerRow: Int, width: Int, format: PixelFormat)
    /// `needed` is nil if the size overflows an integer.
    case tooFewBytes(needed: Int?, given: Int)

    public var description: String {
        switch self {
        case .emptyShape(let width, let height):
            "a pixel buffer needs at least one pixel, not \(width)×\(height)"
        case .rowTooShort(let bytesPerRow, let width, let format):
            "\(bytesPerRow) bytes per row do not hold \(width) pixels of \(format.rawValue)"
        case .tooFewBytes(let needed?, let given):
            "the pixels take \(needed) bytes, but the memory has \(given)"
        case .tooFewBytes(nil, let given):
            "the size of the pixels overflows an integer, but the memory has \(given)"
        }
    }
}

/// The memory behind a buffer, released with its last user.
///
/// Unchecked: the bytes are never written after the storage is shared.
final class PixelStorage: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    private let release: @Sendable () -> Void

    init(bytes: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        self.bytes = bytes
        self.release = release
    }

    convenience init(copying source: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 64)
        copy.copyBytes(from: source)
        self.init(owning: copy)
    }

    convenience init(owning memory: UnsafeMutableRawBufferPointer) {
        let address = UInt(bitPattern: memory.baseAddress)
        self.init(bytes: UnsafeRawBufferPointer(memory)) { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }
    }

    deinit { release() }
}
