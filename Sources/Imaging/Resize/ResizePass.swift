import CKernels

/// One color image on its way through the filters.
struct ResizePass {
    let kernels: lk_kernels
    let image: PixelBuffer
    let horizontal: TriangleFilter
    let vertical: TriangleFilter

    func run(into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout) {
        guard let out = output.baseAddress else { return }
        let channels = image.format.bytesPerPixel
        let width = horizontal.spans.count
        let sums = UnsafeMutablePointer<UInt16>.allocate(capacity: image.width * channels)
        let filtered = UnsafeMutablePointer<Float>.allocate(capacity: width * 4)
        defer {
            sums.deallocate()
            filtered.deallocate()
        }
        var pixels = lk_pixel_layout(
            image.format, premultiplied: image.alpha == .premultiplied, scale: 255, layout: layout)
        VerticalPass(
            kernels: kernels, image: image, filter: vertical, rowLength: horizontal.cellCount(of: image.width) * 4
        ).run { source, stride, rows, cells in
            kernels.sumRowOfCells(
                source, stride: stride, rows: rows, width: image.width, channels: channels, factor: horizontal.factor,
                line: sums, cells: cells)
        } finish: { row, y in
            horizontal.spans.withUnsafeBufferPointer { spans in
                horizontal.weights.withUnsafeBufferPointer { weights in
                    kernels.filter_columns(row, spans.baseAddress, weights.baseAddress, Int32(width), filtered)
                }
            }
            kernels.write_pixels(filtered, Int32(width), &pixels, out + layout.offset + y * layout.rowStride)
        }
    }
}
