import CKernels

extension lk_kernels {
    /// A row of cells of four floats, each the sum of `factor` neighboring pixels in all of `rows` rows.
    ///
    /// - Parameter line: memory for a row of sums, one number per byte.
    func sumRowOfCells(
        _ source: UnsafePointer<UInt8>, stride: Int, rows: Int, width: Int, channels: Int, factor: Int,
        line: UnsafeMutablePointer<UInt16>?, cells: UnsafeMutablePointer<Float>?
    ) {
        if channels == 4, factor % 4 == 0, rows <= 64 {
            sum_cells(source, stride, Int32(rows), Int32(width), Int32(factor), cells)
        } else {
            sum_rows(source, stride, Int32(rows), width * channels, line)
            // Sixteen bits hold the sum of 257 bytes.
            sum_columns(line, Int32(channels), Int32(width), Int32(factor), rows * factor <= 257, cells)
        }
    }
}
