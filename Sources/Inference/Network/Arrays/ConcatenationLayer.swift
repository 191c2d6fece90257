import Compute

/// Tensors joined along an axis to an array.
struct ConcatenationLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let scratchCount: Int
    /// Repetitions of all inputs' pieces, and the elements of a piece of each.
    private let outer: Int
    private let pieces: [Int]

    init(_ concatenation: NetworkGraph.Concatenation, _ description: LayerDescription) throws(ModelError.Reason) {
        let shapes = [description.input] + description.others
        try description.checkIsNoImage()
        let extents = shapes.map(\.extents)
        var result = extents[0]
        let axis = try description.checkedAxis(concatenation.axis, of: result)
        for other in extents.dropFirst() {
            var expected = result
            guard other.count == result.count else {
                throw description.problem("joins \(extents.count) tensors of different shapes")
            }
            expected[axis] = other[axis]
            guard other == expected else {
                throw description.problem("joins \(result) and \(other) along axis \(axis)")
            }
            result[axis] += other[axis]
        }
        _ = try description.elementCount(result)
        name = description.node.name
        inputs = [description.node.input] + concatenation.others
        outputShape = TensorShape(extents: result)
        scratchCount = shapes.map(\.rowMajorScratch).max() ?? 0
        outer = result[..<axis].reduce(1, *)
        pieces = extents.map { $0[axis...].reduce(1, *) }
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "\(inputs.count) joined" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let step = pieces.reduce(0, +)
        for image in 0..<batch {
            var start = tensors.output.floats(image)
            for (index, count) in pieces.enumerated() {
                let source = tensors.input(index).rowMajor(image, scratch: scratch)
                for repetition in 0..<outer {
                    (start + repetition * step).update(from: source + repetition * count, count: count)
                }
                start += count
            }
        }
    }
}
