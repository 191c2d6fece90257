import CKernels

/// One axis of an antialiased resize: which source cells make an output pixel, and how much of each.
///
/// The support of the filter grows with the scale (Heckbert, "Fundamentals of Texture Mapping and Image Warping", 1989,
/// section 3.5). A cell is `factor` neighboring pixels; its weight is the filter at its center, normalized so that the
/// weights times the pixels that they stand for add up to one.
struct AxisFilter {
    /// The pixels that a cell sums, 1 for none.
    let factor: Int
    let spans: [lk_filter_span]
    let weights: [Float]

    /// - Parameter part: where the result begins in the source, and how many pixels of the source one of it is.
    init(source: Int, target: Int, factor: Int, part: (start: Double, scale: Double), filter: ResizeFilter) {
        self.factor = factor
        let stretch = max(part.scale, 1)
        let support = filter.support * stretch
        let cells = (source + factor - 1) / factor
        var spans: [lk_filter_span] = []
        var weights: [Float] = []
        spans.reserveCapacity(target)
        for index in 0..<target {
            let center = part.start + (Double(index) + 0.5) * part.scale
            let first = max(0, Int(((center - support) / Double(factor)).rounded(.down)))
            let last = min(cells - 1, Int(((center + support) / Double(factor)).rounded(.down)))
            var column: [Double] = []
            var total = 0.0
            for cell in first...last {
                let begin = cell * factor
                let end = min(begin + factor, source)
                let weight = filter.weight((Double(begin + end) / 2 - center) / stretch)
                column.append(weight)
                total += weight * Double(end - begin)
            }
            let leading = column.prefix { $0 == 0 }.count
            let trailing = column.reversed().prefix { $0 == 0 }.count
            let used = column[leading..<(column.count - trailing)]
            spans.append(
                lk_filter_span(first: Int32(first + leading), count: Int32(used.count), offset: Int32(weights.count)))
            weights.append(contentsOf: used.map { Float($0 / total) })
        }
        self.spans = spans
        self.weights = weights
    }

    /// The filters along both axes of an image that is resized.
    static func pair(
        for image: PixelBuffer, width: Int, height: Int, reduction: BoxReduction, fit: ResizeFit = .stretch,
        filter: ResizeFilter = .bilinear
    ) -> (horizontal: AxisFilter, vertical: AxisFilter) {
        func axis(_ source: Int, _ other: Int, _ target: Int, isHorizontal: Bool) -> AxisFilter {
            let part = fit.span(of: source, other: other, target: target)
            let factor = reduction.factor(scale: part.scale / filter.support, isHorizontal: isHorizontal)
            return AxisFilter(source: source, target: target, factor: factor, part: part, filter: filter)
        }
        return (
            axis(image.width, image.height, width, isHorizontal: true),
            axis(image.height, image.width, height, isHorizontal: false)
        )
    }

    /// The number of cells along an axis of `source` pixels.
    func cellCount(of source: Int) -> Int { (source + factor - 1) / factor }
}

/// Filters an image down its columns: rows of cells in, one filtered row of cells out for each row of the result.
///
/// The vertical filter comes first, since it adds whole rows, which costs least; the horizontal one has fewer rows
/// left. Only the rows of the result that are under way are kept.
struct VerticalPass {
    let kernels: lk_kernels
    let image: PixelBuffer
    let filter: AxisFilter
    /// The number of floats per row of cells.
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
        // Rows begin on cache lines: a vector that lies in two lines costs twice as much.
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
            // A crop needs no rows beyond it.
            let first = Int(filter.spans.first?.first ?? 0)
            for cellRow in first..<cellRows where firstOpen < filter.spans.count {
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

    /// The largest number of rows of the result that are under way at once.
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

extension lk_kernels {
    /// Writes a row of cells of four floats, each the sum of `factor` neighboring pixels in all of `rows` rows.
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
