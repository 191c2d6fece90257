#if ONNXImport
import Foundation
import Inference
import Lookalike

extension GraphImporter {
    /// Resizes a constant with the cubic filter, or with an antialiased one: position embeddings for another size.
    ///
    /// https://onnx.ai/onnx/operators/onnx__Resize.html
    ///
    /// - Returns: nil for the modes that a layer computes.
    func resized(_ node: ONNXNode, _ constant: ConstantTensor) throws -> ConstantTensor? {
        let isAntialiased = node.integer("antialias", default: 0) != 0
        let mode = node.string("mode", default: "nearest")
        let filter: Filter
        switch mode {
        case "cubic": filter = .cubic(Double(node.float("cubic_coeff_a", default: -0.75)))
        case "linear" where isAntialiased: filter = .triangle
        default: return nil
        }
        let rank = constant.extents.count
        let axes = try node.integers("axes")?.map { try node.axis($0, rank: rank) } ?? Array(0..<rank)
        let sizes = try optionalConstant(node, 3)?.integers
        let scales = try sizes == nil ? optionalConstant(node, 2)?.floats ?? [] : []
        guard (sizes?.count ?? scales.count) == axes.count, Set(axes).count == axes.count else {
            throw node.problem("has neither a scale nor a size for each of \(axes.count) axes")
        }
        guard node.string("keep_aspect_ratio_policy", default: "stretch") == "stretch" else {
            throw node.problem("keeps the aspect ratio; that is not supported")
        }
        let place = node.string("coordinate_transformation_mode", default: "half_pixel")
        guard let coordinates = NetworkGraph.Resizing.Coordinates(rawValue: place) else {
            throw node.problem("has the coordinate_transformation_mode “\(place)”, which is not supported")
        }
        var (values, extents) = (constant.floats, constant.extents)
        for (index, axis) in axes.enumerated() {
            let extent = extents[axis]
            let scale = sizes.map { Double(Float($0[index]) / Float(max(extent, 1))) } ?? Double(scales[index])
            guard scale > 0, scale <= 4096, extent > 0 else {
                throw node.problem("resizes \(extents) by \(scale) along axis \(axis)")
            }
            let size = sizes?[index] ?? Int(Float(extent) * scales[index])
            guard (1...4096).contains(size) else { throw node.problem("makes \(size) of axis \(axis)") }
            if size == extent, scale == 1 { continue }
            let row = ResizedRow(
                extent: extent, size: size, scale: scale, coordinates: coordinates, filter: filter,
                isAntialiased: isAntialiased, leavesOutside: node.integer("exclude_outside", default: 0) != 0)
            extents[axis] = size
            try count(extents.reduce(1, *), node)
            values = row.apply(to: values, inner: extents[(axis + 1)...].reduce(1, *))
        }
        return .init(floats: values, extents: extents)
    }
}

private enum Filter {
    /// The function of Keys, with its parameter.
    case cubic(Double)
    case triangle

    var reach: Double {
        switch self {
        case .cubic: 2
        case .triangle: 1
        }
    }

    func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .triangle: return max(0, 1 - x)
        case .cubic(let a): return ResizeFilter.cubic(x, a)
        }
    }
}

/// What the elements along one axis are made of.
private struct ResizedRow {
    /// For each output, the inputs and their weights.
    private var taps: [[(place: Int, weight: Double)]] = []
    private let extent: Int

    /// - Parameter leavesOutside: the weights beyond the ends count for nothing, and not for the last element.
    init(
        extent: Int, size: Int, scale: Double, coordinates: NetworkGraph.Resizing.Coordinates, filter: Filter,
        isAntialiased: Bool, leavesOutside: Bool
    ) {
        self.extent = extent
        // Where the output is smaller, the filter reaches over as many inputs more.
        let stretch = isAntialiased ? max(1, 1 / scale) : 1
        for output in 0..<size {
            let x = Double(output)
            let center =
                switch coordinates {
                case .halfPixel: (x + 0.5) / scale - 0.5
                case .pixelsOrStart: size > 1 ? (x + 0.5) / scale - 0.5 : 0
                case .asymmetric: x / scale
                case .corners: size > 1 ? x * Double(extent - 1) / Double(size - 1) : 0
                }
            let reach = filter.reach * stretch
            var row: [(place: Int, weight: Double)] = []
            for place in Int((center - reach).rounded(.up))...Int((center + reach).rounded(.down)) {
                let weight = filter.weight((Double(place) - center) / stretch)
                let inside = min(max(place, 0), extent - 1)
                if weight != 0, !leavesOutside || inside == place { row.append((inside, weight)) }
            }
            let sum = row.reduce(0) { $0 + $1.weight }
            taps.append(row.map { ($0.place, $0.weight / sum) })
        }
    }

    /// - Parameter inner: how many elements lie between neighbors along the axis.
    func apply(to values: [Float], inner: Int) -> [Float] {
        let outer = values.count / (extent * inner)
        var result: [Float] = []
        result.reserveCapacity(outer * taps.count * inner)
        for row in 0..<outer {
            for taps in taps {
                for column in 0..<inner {
                    let sum = taps.reduce(0) {
                        $0 + $1.weight * Double(values[(row * extent + $1.place) * inner + column])
                    }
                    result.append(Float(sum))
                }
            }
        }
        return result
    }
}
#endif
