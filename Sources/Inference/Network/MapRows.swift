import Compute

/// Rows of maps for layers that compute in float32, whether the maps are int8 or not.
extension LayerTensors.Slot {
    /// Rows of a block of a map, sixteen values per pixel: where they are, or, of codes, copied to `widened`.
    ///
    /// - Precondition: a map with a border is read row by row.
    func rows(
        _ rows: Range<Int>, ofBlock block: Int, image: Int, widened: UnsafeMutablePointer<Float>, kernels: SIMDTarget
    ) -> UnsafePointer<Float> {
        guard let codes = layout.quantization else { return UnsafePointer(floats(image) + offset(rows, block)) }
        kernels.table.dequantize(
            bytes(image) + offset(rows, block), codes.scale, codes.zeroPoint,
            rows.count * layout.shape.width * layout.pixelStride, widened)
        return UnsafePointer(widened)
    }

    /// Lets `body` write rows of a block of a map: where they belong, or, of codes, to `scratch`.
    ///
    /// - Precondition: a map with a border is written row by row.
    func writeRows(
        _ rows: Range<Int>, ofBlock block: Int, image: Int, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget,
        _ body: (UnsafeMutablePointer<Float>) -> Void
    ) {
        guard let codes = layout.quantization else { return body(floats(image) + offset(rows, block)) }
        body(scratch)
        kernels.table.quantize(
            scratch, 1 / codes.scale, codes.zeroPoint, rows.count * layout.shape.width * layout.pixelStride,
            bytes(image) + offset(rows, block))
    }

    /// Where rows begin.
    private func offset(_ rows: Range<Int>, _ block: Int) -> Int {
        precondition(rows.count == 1 || layout.border == 0, "rows of a map with a border are not consecutive")
        return layout.origin + block * layout.blockStride + rows.lowerBound * layout.rowStride
    }
}
