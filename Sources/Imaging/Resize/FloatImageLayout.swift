import CKernels

/// The places and the scale of the floats of a resized image.
///
/// Channel `c` of pixel (x, y) goes to `offset + y * rowStride + x * pixelStride + c`, as `value * multiply[c] +
/// add[c]` with `value` in 0...1. Strides count floats.
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

    /// A layout of red, green, blue, red, … in 0...1, without gaps.
    public static func interleaved(width: Int) -> FloatImageLayout {
        FloatImageLayout(rowStride: width * 3, pixelStride: 3)
    }

    public static func == (a: Self, b: Self) -> Bool {
        (a.offset, a.rowStride, a.pixelStride) == (b.offset, b.rowStride, b.pixelStride)
            && a.multiply == b.multiply && a.add == b.add
    }
}

extension lk_pixel_layout {
    /// The conversion of pixels of four floats, 0...`scale`, to a layout.
    init(_ format: PixelFormat, premultiplied: Bool, scale: Float, layout: FloatImageLayout) {
        self.init()
        order =
            switch format.redGreenBlueOffsets {
            case (0, 1, 2): LK_ORDER_RGB
            case (2, 1, 0): LK_ORDER_BGR
            default: LK_ORDER_GRAY
            }
        self.premultiplied = premultiplied
        multiply = (layout.multiply.red / scale, layout.multiply.green / scale, layout.multiply.blue / scale, 0)
        add = (layout.add.red, layout.add.green, layout.add.blue, 0)
        pixel_stride = Int32(layout.pixelStride)
    }
}
