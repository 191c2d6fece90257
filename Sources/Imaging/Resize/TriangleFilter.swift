import CKernels

/// One axis of an antialiased resize: which source cells make an output pixel, and how much of each.
///
/// The filter is a triangle whose support grows with the scale (Heckbert, "Fundamentals of Texture
/// Mapping and Image Warping", 1989, section 3.5; what Pillow calls BILINEAR). A cell is `factor`
/// neighboring pixels; its weight is the triangle at its center, normalized so that the weights
/// times the pixels that they stand for add up to one.
struct TriangleFilter {
    /// The pixels that a cell sums, 1 for none.
    let factor: Int
    let spans: [lk_filter_span]
    let weights: [Float]

    init(source: Int, target: Int, factor: Int) {
        self.factor = factor
        let scale = Double(source) / Double(target)
        let support = max(scale, 1)
        let cells = (source + factor - 1) / factor
        var spans: [lk_filter_span] = []
        var weights: [Float] = []
        spans.reserveCapacity(target)
        for index in 0..<target {
            let center = (Double(index) + 0.5) * scale
            let first = max(0, Int(((center - support) / Double(factor)).rounded(.down)))
            let last = min(cells - 1, Int(((center + support) / Double(factor)).rounded(.down)))
            var column: [Double] = []
            var total = 0.0
            for cell in first...last {
                let begin = cell * factor
                let end = min(begin + factor, source)
                let weight = max(0, 1 - abs(Double(begin + end) / 2 - center) / support)
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
        for image: PixelBuffer, width: Int, height: Int, reduction: BoxReduction
    ) -> (horizontal: TriangleFilter, vertical: TriangleFilter) {
        func filter(_ source: Int, _ target: Int, isHorizontal: Bool) -> TriangleFilter {
            let factor = reduction.factor(source: source, target: target, isHorizontal: isHorizontal)
            return TriangleFilter(source: source, target: target, factor: factor)
        }
        return (filter(image.width, width, isHorizontal: true), filter(image.height, height, isHorizontal: false))
    }

    /// Cells along an axis of `source` pixels.
    func cellCount(of source: Int) -> Int { (source + factor - 1) / factor }
}
