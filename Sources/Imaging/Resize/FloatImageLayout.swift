/// Where and how the floats of a resized image are written.
///
/// Channel `c` of pixel (x, y) goes to `offset + y * rowStride + x * pixelStride + c`, as
/// `value * multiply[c] + add[c]` with `value` in 0...1. Strides count floats.
public struct FloatImageLayout: Sendable, Equatable {
    /// The position of the first float.
    public var offset: Int
    /// The distance between rows.
    public var rowStride: Int
    /// The distance between pixels of a row, at least 3.
    public var pixelStride: Int
    /// The factor per channel.
    public var multiply: (red: Float, green: Float, blue: Float)
    /// The summand per channel.
    public var add: (red: Float, green: Float, blue: Float)

    /// A layout; by default values stay in 0...1.
    public init(
        offset: Int = 0, rowStride: Int, pixelStride: Int,
        multiply: (red: Float, green: Float, blue: Float) = (1, 1, 1),
        add: (red: Float, green: Float, blue: Float) = (0, 0, 0)
    ) {
        self.offset = offset
        self.rowStride = rowStride
        self.pixelStride = pixelStride
        self.multiply = multiply
        self.add = add
    }

    /// Red, green, blue, red, … in 0...1, without gaps.
    public static func interleaved(width: Int) -> FloatImageLayout {
        FloatImageLayout(rowStride: width * 3, pixelStride: 3)
    }

    public static func == (a: Self, b: Self) -> Bool {
        (a.offset, a.rowStride, a.pixelStride) == (b.offset, b.rowStride, b.pixelStride)
            && a.multiply == b.multiply && a.add == b.add
    }
}
