import Foundation

/// A rectangle of 8-bit pixels in memory: rows from the top, `bytesPerRow` bytes apart.
///
/// A buffer wraps memory of the caller without a copy, or owns what was converted to eight bits: camera frames
/// (``init(nv12:chroma:width:height:encoding:)``) and deeper pixels
/// (``init(converting:from:width:height:alpha:colorSpace:)``). It is immutable; share it between tasks.
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

    /// What the components mean. Prints, thumbnails and encoded files are made of the colors in sRGB; converting them
    /// costs time per pixel of the result, not of the image. Keypoints are found in the stored values.
    public internal(set) var colorSpace: PixelColorSpace

    /// What was ignored in the image's file, such as a damaged color profile: a phrase each, after “the image: ”.
    public internal(set) var decodingNotes: [String] = []

    let storage: PixelStorage
    /// Where the first row starts in the storage.
    let offset: Int

    /// Wraps memory of the caller without a copy.
    ///
    /// - Parameters:
    ///   - bytes: the rows; must stay valid and unchanged until `release` is called.
    ///   - release: called once, when the last copy of the buffer is gone.
    /// - Throws: ``PixelBufferError`` when the shape does not fit the memory. `release` is then
    ///   called as well.
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
public enum PixelBufferError: Error, Equatable, CustomStringConvertible {
    /// A side is not positive, or a region lies outside the image.
    case emptyShape(width: Int, height: Int)
    /// The rows overlap: `bytesPerRow` is less than the bytes of `width` pixels.
    case rowTooShort(bytesPerRow: Int, width: Int, format: PixelFormat)
    /// `needed` is nil if the size overflows an integer.
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
