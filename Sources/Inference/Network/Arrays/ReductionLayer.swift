import Compute

/// Sums and the like over axes of an array, which get the extent 1.
struct ReductionLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let scratchCount: Int
    private let function: NetworkGraph.Reduction.Function
    /// Of each axis of the result, outermost first: extent, and distance in the input. The reduced axes are apart.
    private let kept: [(count: Int, stride: Int)]
    private let reduced: [(count: Int, stride: Int)]

    init(_ reduction: NetworkGraph.Reduction, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        let extents = description.input.extents
        for axis in reduction.axes { _ = try description.checkedAxis(axis, of: extents) }
        var (kept, reduced): ([(count: Int, stride: Int)], [(count: Int, stride: Int)]) = ([], [])
        var stride = 1
        for (axis, extent) in extents.enumerated().reversed() {
            if reduction.axes.contains(axis) {
                reduced.insert((extent, stride), at: 0)
            } else {
                kept.insert((extent, stride), at: 0)
            }
            stride *= extent
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = TensorShape(
            extents: extents.enumerated().map { reduction.axes.contains($0.offset) ? 1 : $0.element })
        scratchCount = description.input.rowMajorScratch
        function = reduction.function
        self.kept = kept
        self.reduced = reduced
    }

    var operationCount: Int {
        let count = (kept + reduced).reduce(1) { $0 * $1.count }
        return TensorShape.operationCount(ofElements: 2 * (scratchCount + count))
    }
    var summary: String { "\(function.rawValue) over \(reduced.map(\.count).reduce(1, *))" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let count = reduced.map(\.count).reduce(1, *)
        for image in 0..<batch {
            let source = tensors.input.rowMajor(image, scratch: scratch)
            var to = tensors.output.floats(image)
            func walk(_ axis: Int, _ from: UnsafePointer<Float>) {
                guard axis < kept.count else {
                    to.pointee = result(from, count)
                    to += 1
                    return
                }
                for index in 0..<kept[axis].count { walk(axis + 1, from + index * kept[axis].stride) }
            }
            walk(0, source)
        }
    }

    private func result(_ from: UnsafePointer<Float>, _ count: Int) -> Float {
        var sum = 0.0
        var (largest, smallest) = (-Float.infinity, Float.infinity)
        func walk(_ axis: Int, _ from: UnsafePointer<Float>) {
            guard axis < reduced.count else {
                let value = from.pointee
                switch function {
                case .mean, .sum: sum += Double(value)
                case .l1: sum += Double(abs(value))
                case .l2, .squares: sum += Double(value) * Double(value)
                case .maximum: largest = max(largest, value)
                case .minimum: smallest = min(smallest, value)
                }
                return
            }
            for index in 0..<reduced[axis].count { walk(axis + 1, from + index * reduced[axis].stride) }
        }
        walk(0, from)
        return switch function {
        case .mean: Float(sum / Double(count))
        case .sum, .l1, .squares: Float(sum)
        case .l2: Float(sum.squareRoot())
        case .maximum: largest
        case .minimum: smallest
        }
    }
}
