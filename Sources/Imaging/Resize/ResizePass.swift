import CKernels

/// One image on its way through the filters.
struct ResizePass {
    let kernels: lk_kernels
    let image: PixelBuffer
    let width: Int
    let height: Int
    let horizontal: TriangleFilter
    let vertical: TriangleFilter

    func run(into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout) {
        let channels = image.format.bytesPerPixel
        let rowBytes = image.width * channels
        let cellsPerRow = (image.width + horizontal.factor - 1) / horizontal.factor
        let cellRows = (image.height + vertical.factor - 1) / vertical.factor
        let depth = largestOverlap()
        let line = UnsafeMutablePointer<UInt16>.allocate(capacity: rowBytes)
        let cells = UnsafeMutablePointer<Float>.allocate(capacity: cellsPerRow * 4)
        let filtered = UnsafeMutablePointer<Float>.allocate(capacity: width * 4)
        let rows = UnsafeMutablePointer<Float>.allocate(capacity: depth * width * 4)
        let opaque =
            image.alpha == .straight
            ? UnsafeMutablePointer<UInt8>.allocate(capacity: rowBytes * vertical.factor) : nil
        defer {
            line.deallocate()
            cells.deallocate()
            filtered.deallocate()
            rows.deallocate()
            opaque?.deallocate()
        }
        rows.initialize(repeating: 0, count: depth * width * 4)

        image.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            var firstOpen = 0
            for cellRow in 0..<cellRows {
                let top = cellRow * vertical.factor
                let count = min(vertical.factor, image.height - top)
                var source = base + top * image.bytesPerRow
                var stride = image.bytesPerRow
                if let opaque {
                    compositeOverWhite(source, rows: count, into: opaque, rowBytes: rowBytes)
                    (source, stride) = (UnsafePointer(opaque), rowBytes)
                }
                kernels.sumRowOfCells(
                    source, stride: stride, rows: count, width: image.width, channels: channels,
                    factor: horizontal.factor,
                    line: line, cells: cells)
                horizontal.spans.withUnsafeBufferPointer { spans in
                    horizontal.weights.withUnsafeBufferPointer { weights in
                        kernels.filter_columns(cells, spans.baseAddress, weights.baseAddress, Int32(width), filtered)
                    }
                }
                for y in firstOpen..<height {
                    let span = vertical.spans[y]
                    guard Int(span.first) <= cellRow else { break }
                    let position = cellRow - Int(span.first)
                    guard position < Int(span.count) else { continue }
                    let row = rows + y % depth * width * 4
                    let weight = vertical.weights[Int(span.offset) + position]
                    kernels.accumulate(filtered, weight, width * 4, row)
                    if position == Int(span.count) - 1 {
                        finish(row, y: y, into: output, layout: layout)
                        row.update(repeating: 0, count: width * 4)
                        firstOpen = y + 1
                    }
                }
            }
        }
    }

    /// How many output rows are under way at once, at most.
    private func largestOverlap() -> Int {
        var deepest = 1
        var low = 0
        for (y, span) in vertical.spans.enumerated() {
            while vertical.spans[low].first + vertical.spans[low].count <= span.first { low += 1 }
            deepest = max(deepest, y - low + 1)
        }
        return deepest
    }

    private func compositeOverWhite(
        _ source: UnsafePointer<UInt8>, rows: Int, into opaque: UnsafeMutablePointer<UInt8>, rowBytes: Int
    ) {
        for row in 0..<rows {
            let from = source + row * image.bytesPerRow
            let to = opaque + row * rowBytes
            for pixel in stride(from: 0, to: rowBytes, by: 4) {
                let alpha = from[pixel + 3]
                for color in 0..<3 { to[pixel + color] = AlphaCompositing.overWhite(from[pixel + color], alpha: alpha) }
                to[pixel + 3] = 255
            }
        }
    }

    private func finish(
        _ row: UnsafePointer<Float>, y: Int, into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout
    ) {
        var pixels = lk_pixel_layout(
            image.format, premultiplied: image.alpha == .premultiplied, scale: 255, layout: layout)
        guard let out = output.baseAddress else { return }
        kernels.write_pixels(row, Int32(width), &pixels, out + layout.offset + y * layout.rowStride)
    }
}
