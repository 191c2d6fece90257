public import Compute
public import Foundation

/// A rectangle of 8-bit pixels in memory: rows from the top, `bytesPerRow` bytes apart.
///
/// A buffer wraps memory of the caller without a copy, or owns what was converted to eight bits: camera frames
/// (``init(nv12:chroma:width:height:encoding:)``) and deeper pixels
/// (``init(converting:from:width:height:alpha:colorSpace:)``). It is immutable; share it between tasks.
public struct PixelBuffer: Sendable {
    /// The width in pixels, at least 1.
    public let width: Int
    /// The height in pixels, at least 1.
    public let height: Int
    /// The distance from a row to the next, at least `width * format.bytesPerPixel`.
    public let bytesPerRow: Int
    /// The order and number of the components of a pixel.
    public let format: PixelFormat
    /// The meaning of the fourth byte; `ignored` for formats without one.
    public let alpha: AlphaMode

    /// The size of the image in its file, which is larger after a reduced-size decode; else that of the buffer.
    public internal(set) var sourceSize: (width: Int, height: Int)

    /// The meaning of the components. Prints, thumbnails and encoded files are made of the colors in sRGB; converting
    /// them costs time per pixel of the result, not of the image. Keypoints are found in the stored values.
    public internal(set) var colorSpace: PixelColorSpace

    /// Parts of the image's file that were ignored, such as a damaged color profile: phrases after “the image: ”.
    public internal(set) var decodingNotes: [String] = []

    let storage: PixelStorage
    /// The place of the first row in the storage.
    let offset: Int

    /// Wraps memory of the caller without a copy.
    ///
    /// - Parameters:
    ///   - bytes: the rows; must stay valid and unchanged until `release` is called.
    ///   - release: called once, when the last copy of the buffer is gone.
    /// - Throws: ``PixelBufferError`` when the shape does not fit the memory. `release` is then called as well.
    public init(
        wrapping bytes: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int? = nil,
        format: PixelFormat, alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB,
        release: @escaping @Sendable () -> Void = {}
    ) throws(PixelBufferError) {
        let storage = PixelStorage(bytes: bytes, release: release)
        try self.init(
            storage: storage, width: width, height: height, bytesPerRow: bytesPerRow, format: format, alpha: alpha,
            colorSpace: colorSpace)
    }

    /// Keeps the rows in `data`, without a copy.
    ///
    /// ```swift
    /// let frame = try PixelBuffer(wrapping: data, width: 1920, height: 1080, bytesPerRow: 7680, format: .bgra8)
    /// ```
    ///
    /// - Throws: ``PixelBufferError`` when the shape does not fit the data.
    /// - Complexity: O(1).
    public init(
        wrapping data: Data, width: Int, height: Int, bytesPerRow: Int? = nil, format: PixelFormat,
        alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        try self.init(
            storage: PixelStorage(data), width: width, height: height, bytesPerRow: bytesPerRow, format: format,
            alpha: alpha, colorSpace: colorSpace)
    }

    /// Keeps the rows in `bytes`, without a copy.
    ///
    /// - Throws: ``PixelBufferError`` when the shape does not fit the bytes.
    /// - Complexity: O(1).
    public init(
        wrapping bytes: [UInt8], width: Int, height: Int, bytesPerRow: Int? = nil, format: PixelFormat,
        alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        try self.init(
            storage: PixelStorage(bytes), width: width, height: height, bytesPerRow: bytesPerRow, format: format,
            alpha: alpha, colorSpace: colorSpace)
    }

    /// Keeps the rows in `bytes`, like the initializer whose argument is labeled `wrapping`.
    ///
    /// - Throws: ``PixelBufferError`` when the shape does not fit the bytes.
    public init(
        _ bytes: [UInt8], width: Int, height: Int, bytesPerRow: Int? = nil,
        format: PixelFormat, alpha: AlphaMode = .premultiplied, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        try self.init(
            wrapping: bytes, width: width, height: height, bytesPerRow: bytesPerRow, format: format, alpha: alpha,
            colorSpace: colorSpace)
    }

    init(
        storage: PixelStorage, offset: Int = 0, width: Int, height: Int, bytesPerRow: Int?,
        format: PixelFormat, alpha: AlphaMode, colorSpace: PixelColorSpace = .sRGB
    ) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (rowBytes, rowOverflow) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        let stride = bytesPerRow ?? rowBytes
        guard !rowOverflow, stride >= rowBytes else {
            throw .rowTooShort(bytesPerRow: stride, width: width, format: format)
        }
        let (before, overflow) = stride.multipliedReportingOverflow(by: height - 1)
        let (needed, lastOverflow) = before.addingReportingOverflow(rowBytes)
        guard !overflow, !lastOverflow, needed <= storage.count - offset else {
            throw .tooFewBytes(needed: overflow || lastOverflow ? nil : needed, given: storage.count - offset)
        }
        self.width = width
        self.height = height
        sourceSize = (width, height)
        self.bytesPerRow = stride
        self.format = format
        self.alpha = format.hasAlpha ? alpha : .ignored
        self.colorSpace = colorSpace
        self.storage = storage
        self.offset = offset
    }

    /// Takes over memory that begins with the pixels, in rows without padding; `release` frees it.
    init(
        owning memory: UnsafeMutableRawBufferPointer, width: Int, height: Int, format: PixelFormat,
        alpha: AlphaMode = .ignored, colorSpace: PixelColorSpace = .sRGB,
        release: @escaping @Sendable (UnsafeMutableRawPointer?) -> Void
    ) {
        let address = UInt(bitPattern: memory.baseAddress)
        let storage = PixelStorage(bytes: UnsafeRawBufferPointer(memory)) {
            release(UnsafeMutableRawPointer(bitPattern: address))
        }
        do throws(PixelBufferError) {
            try self.init(
                storage: storage, width: width, height: height, bytesPerRow: nil, format: format, alpha: alpha,
                colorSpace: colorSpace)
        } catch {
            preconditionFailure("\(memory.count) bytes are no image of \(width)×\(height): \(error)")
        }
    }

    /// Calls `body` with the rows. The pointer is valid only during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeBytes { bytes throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        }
    }
}

/// Why memory and a shape are not a pixel buffer.
public enum PixelBufferError: DescribedError, Equatable {
    /// A side is not positive, or a region lies outside the image.
    case emptyShape(width: Int, height: Int)
    /// The rows overlap: `bytesPerRow` is less than the bytes of `width` pixels.
    case rowTooShort(bytesPerRow: Int, width: Int, format: PixelFormat)
    /// The memory is too small; `needed` is nil if the size overflows an integer.
    case tooFewBytes(needed: Int?, given: Int)
    /// A plane of a frame is too small, by its name; `needed` is nil if the size overflows an integer.
    case planeTooSmall(String, needed: Int?, given: Int)
    /// A frame has a pixel format that cannot be read.
    case unknownFormat(String)

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
        case .planeTooSmall(let name, let needed?, let given):
            "the plane “\(name)” needs \(needed) bytes, but has \(given)"
        case .planeTooSmall(let name, nil, let given):
            "the size of the plane “\(name)” overflows an integer, but it has \(given) bytes"
        case .unknownFormat(let name): "pixels of the format \(name) cannot be read"
        }
    }
}

/// A rectangle of pixels: `x` and `y` from the top left corner.
public struct PixelRegion: Sendable, Equatable {
    /// The first column.
    public var x: Int
    /// The first row.
    public var y: Int
    /// The number of columns.
    public var width: Int
    /// The number of rows.
    public var height: Int

    /// A rectangle; it is checked where it is used.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

extension PixelBuffer {
    /// The part of the image inside `region`, sharing its memory. O(1).
    ///
    /// - Throws: ``PixelBufferError`` when the region is empty or reaches outside.
    public func cropped(to region: PixelRegion) throws(PixelBufferError) -> PixelBuffer {
        guard region.x >= 0, region.y >= 0, region.width > 0, region.height > 0,
            region.x <= width - region.width, region.y <= height - region.height
        else { throw .emptyShape(width: region.width, height: region.height) }
        var part = try PixelBuffer(
            storage: storage, offset: offset + region.y * bytesPerRow + region.x * format.bytesPerPixel,
            width: region.width, height: region.height, bytesPerRow: bytesPerRow, format: format, alpha: alpha,
            colorSpace: colorSpace)
        part.sourceSize = (region.width * sourceSize.width / width, region.height * sourceSize.height / height)
        return part
    }

    /// The center crop of `fraction` (0...1] of both sides, at least one pixel, sharing the image's memory. O(1).
    public func centerCrop(_ fraction: Double) -> PixelBuffer {
        let wide = min(width, max(1, Int((Double(width) * fraction).rounded())))
        let high = min(height, max(1, Int((Double(height) * fraction).rounded())))
        let region = PixelRegion(x: (width - wide) / 2, y: (height - high) / 2, width: wide, height: high)
        guard let part = try? cropped(to: region) else {
            preconditionFailure("\(region) lies inside an image of \(width)×\(height)")
        }
        return part
    }
}

/// The memory behind a buffer, given back when its last user is gone.
///
/// It is sendable unchecked: the bytes are never written after the storage is shared.
final class PixelStorage: @unchecked Sendable {
    private enum Memory {
        case pointer(UnsafeRawBufferPointer, release: @Sendable () -> Void)
        case data(Data)
        case array([UInt8])
    }

    private let memory: Memory
    /// The size in bytes.
    let count: Int

    init(bytes: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        memory = .pointer(bytes, release: release)
        count = bytes.count
    }

    init(_ data: Data) {
        memory = .data(data)
        count = data.count
    }

    init(_ bytes: [UInt8]) {
        memory = .array(bytes)
        count = bytes.count
    }

    deinit { if case .pointer(_, let release) = memory { release() } }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch memory {
        case .pointer(let bytes, _):
            return try withExtendedLifetime(self) { () throws(Failure) -> Result in try body(bytes) }
        case .data(let data):
            // Data rethrows any error, so the result carries it.
            let result = data.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) -> Result in try body(bytes) }
            }
            return try result.get()
        case .array(let array):
            let result = array.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) -> Result in try body(bytes) }
            }
            return try result.get()
        }
    }
}
