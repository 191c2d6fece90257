import Compute

extension NetworkGraph {
    /// Parts of an array along an axis, which another tensor numbers: the vectors of a text's numbers, or the row of
    /// the one that ends the text.
    public struct Lookup: RunnableOperation {
        /// The node of the numbers, whole ones. Negative ones count from the end; those that are too large stand for
        /// the last part, and those that are too small for the first.
        public var places: String
        /// The axis of the input, from 0.
        public var axis: Int
        /// The shape of the output: that of the input, with the shape of the numbers instead of the axis.
        public var shape: [Int]

        /// Parts that a node numbers.
        public init(places: String, axis: Int, shape: [Int]) {
            (self.places, self.axis, self.shape) = (places, axis, shape)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case places, axis, shape }

        static let names = ["lookup"]
        var otherInputs: [String] { [places] }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try LookupLayer(self, description)
        }
    }
}

/// Parts of an array along an axis, which another tensor numbers.
private struct LookupLayer: Layer {
    let outputShape: TensorShape
    private let outer: Int
    private let extent: Int
    private let inner: Int
    private let count: Int

    init(_ lookup: NetworkGraph.Lookup, _ description: LayerDescription) throws(ModelError.Reason) {
        let (input, places) = (description.input, description.others[0])
        guard input.isRowMajor, places.isRowMajor else {
            throw description.problem(
                "looks up parts of \(input.description) by \(places.description); arrays are needed")
        }
        let extents = input.extents
        let axis = try description.checkedAxis(lookup.axis, of: extents)
        outer = extents[..<axis].reduce(1, *)
        extent = extents[axis]
        inner = extents[(axis + 1)...].reduce(1, *)
        count = places.elementCount
        guard try description.elementCount(lookup.shape) == outer * count * inner else {
            throw description.problem("makes \(lookup.shape) of \(count) parts of \(extents)")
        }
        outputShape = TensorShape(extents: lookup.shape)
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount + count) }
    var summary: String { "lookup of \(count)" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let (source, places) = (pass.input(0).floats(image), pass.input(1).floats(image))
            var to = pass.output.floats(image)
            for row in 0..<outer {
                for index in 0..<count {
                    // A number that is not finite is no place; the conversion would trap.
                    let number = places[index].isFinite ? max(-1e9, min(places[index], 1e9)) : 0
                    let place = Int(number) < 0 ? Int(number) + extent : Int(number)
                    to.update(from: source + (row * extent + max(0, min(place, extent - 1))) * inner, count: inner)
                    to += inner
                }
            }
        }
    }
}
