/// Where and how the floats of a resized image are written.
///
/// Channel `c` of pixel (x, y) goes to `offset + y * rowStride + x * pixelStride + c`, as
/// `value * multiply[c] + add[c]` with `value` in 0...1. Strides count floats.
public struct FloatImageLayout: Sendable, Equatable {
    public var offset: Int
    public var rowStride: Int
    public var pixelStride: Int
    public var multiply: (red: Float, green: Float, blue: Float)
    public var add: (red: Float, green: Float, blue: Float)

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
