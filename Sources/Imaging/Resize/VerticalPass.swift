import CKernels

/// Filters an image down its columns: rows of cells in, one filtered row of cells out for each row of the result.
///
/// The vertical filter comes first, since it adds whole rows, which costs least; the horizontal one has fewer rows
/// left. Of the result only the rows under way are kept.
struct VerticalPass {
    let kernels: lk_kernels
    let image: PixelBuffer
    let filter: TriangleFilter
    /// Floats per row of cells.
    let rowLength: Int

    /// - Parameters:
    ///   - cells: writes a row of cells, made of `rows` rows of pixels that are `stride` bytes apart.
    ///   - finish: takes the filtered cells of row `y` of the result.
    func run(
        cells: (_ source: UnsafePointer<UInt8>, _ stride: Int, _ rows: Int, UnsafeMutablePointer<Float>) -> Void,
        finish: (UnsafePointer<Float>, _ y: Int) -> Void
    ) {
        let rowBytes = image.width * image.format.bytesPerPixel
        let cellRows = (image.height + filter.factor - 1) / filter.factor
        let depth = largestOverlap()
        // Rows begin on cache lines: vectors that lie in two cost twice as much.
        let stride = (rowLength + 15) / 16 * 16
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: (depth + 1) * stride * MemoryLayout<Float>.stride, alignment: 64)
        let line = memory.bindMemory(to: Float.self, capacity: (depth + 1) * stride)
        let open = line + stride
        let opaque =
            image.alpha == .straight
            ? UnsafeMutablePointer<UInt8>.allocate(capacity: rowBytes * filter.factor) : nil
        defer {
            memory.deallocate()
            opaque?.deallocate()
        }
        line.initialize(repeating: 0, count: (depth + 1) * stride)

        image.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            var firstOpen = 0
            for cellRow in 0..<cellRows {
                let top = cellRow * filter.factor
                let count = min(filter.factor, image.height - top)
                var source = base + top * image.bytesPerRow
                var sourceStride = image.bytesPerRow
                if let opaque {
                    compositeOverWhite(source, rows: count, into: opaque, rowBytes: rowBytes)
                    (source, sourceStride) = (UnsafePointer(opaque), rowBytes)
                }
                cells(source, sourceStride, count, line)
                for y in firstOpen..<filter.spans.count {
                    let span = filter.spans[y]
                    guard Int(span.first) <= cellRow else { break }
                    let position = cellRow - Int(span.first)
                    guard position < Int(span.count) else { continue }
                    let row = open + y % depth * stride
                    kernels.accumulate(line, filter.weights[Int(span.offset) + position], rowLength, row)
                    if position == Int(span.count) - 1 {
                        finish(row, y)
                        row.update(repeating: 0, count: rowLength)
                        firstOpen = y + 1
                    }
                }
            }
        }
    }

    /// How many rows of the result are under way at once, at most.
    private func largestOverlap() -> Int {
        var deepest = 1
        var low = 0
        for (y, span) in filter.spans.enumerated() {
            while filter.spans[low].first + filter.spans[low].count <= span.first { low += 1 }
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
            for pixel in Swift.stride(from: 0, to: rowBytes, by: 4) {
                let alpha = from[pixel + 3]
                for color in 0..<3 { to[pixel + color] = AlphaCompositing.overWhite(from[pixel + color], alpha: alpha) }
                to[pixel + 3] = 255
            }
        }
    }
}
