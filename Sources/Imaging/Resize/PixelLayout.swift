import CKernels

extension lk_pixel_layout {
    /// From pixels of four floats, 0...`scale`, to a layout.
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
