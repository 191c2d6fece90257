import Compute

extension NetworkGraph {
    /// Tensors joined along an axis to an array.
    public struct Concatenation: RunnableOperation {
        /// The nodes after the input.
        public var others: [String]
        /// The axis along which they lie, from 0.
        public var axis: Int

        /// Arrays joined along an axis.
        public init(others: [String], axis: Int) { (self.others, self.axis) = (others, axis) }

        enum CodingKeys: String, CodingKey, CaseIterable { case others, axis }

        static let names = ["concatenate"]
        var otherInputs: [String] { others }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ConcatenationLayer(self, description)
        }
    }
}

/// Tensors joined along an axis to an array.
private struct ConcatenationLayer: Layer {
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
        try description.elementCount(result)
        outputShape = TensorShape(extents: result)
        scratchCount = shapes.map(\.rowMajorScratch).max() ?? 0
        outer = result[..<axis].reduce(1, *)
        pieces = extents.map { $0[axis...].reduce(1, *) }
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "\(pieces.count) joined" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let step = pieces.reduce(0, +)
        for image in 0..<pass.batch {
            var start = pass.output.floats(image)
            for (index, count) in pieces.enumerated() {
                let source = pass.input(index).rowMajor(image, scratch: pass.scratch)
                for repetition in 0..<outer {
                    (start + repetition * step).update(from: source + repetition * count, count: count)
                }
                start += count
            }
        }
    }
}
