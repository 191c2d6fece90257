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
        return try PixelBuffer(
            storage: storage, offset: offset + region.y * bytesPerRow + region.x * format.bytesPerPixel,
            width: region.width, height: region.height, bytesPerRow: bytesPerRow, format: format, alpha: alpha,
            colorSpace: colorSpace)
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
