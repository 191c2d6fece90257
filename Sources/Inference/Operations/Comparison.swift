import Compute

extension NetworkGraph {
    /// Whether elements of two arrays compare in some way: 1, or 0. Extents of 1 are repeated.
    public struct Comparison: RunnableOperation {
        /// What is asked of two elements.
        public enum Relation: String, Sendable, Codable, CaseIterable {
            /// Whether they are equal.
            case equal
            /// Whether they differ.
            case unequal
            /// Whether the left one is smaller.
            case less
            /// Whether the left one is not larger.
            case atMost = "at_most"
        }

        /// What is asked.
        public var relation: Relation
        /// The node of the right side.
        public var other: String

        /// A comparison with a right side.
        public init(_ relation: Relation, other: String) { (self.relation, self.other) = (relation, other) }

        enum CodingKeys: String, CodingKey, CaseIterable { case relation, other }

        static let names = ["compare"]
        var otherInputs: [String] { [other] }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ElementsLayer(description, summary: "\(relation.rawValue) \(other)") { [relation] left, right, _ in
                let holds =
                    switch relation {
                    case .equal: left == right
                    case .unequal: left != right
                    case .less: left < right
                    case .atMost: left <= right
                    }
                return holds ? 1 : 0
            }
        }
    }
}

/// A function of the elements of two or three arrays, with extents of 1 repeated.
struct ElementsLayer: Layer {
    let outputShape: TensorShape
    let summary: String
    private let extents: [Int]
    /// How far each array goes along each axis; with two arrays the second is the third as well.
    private let strides: [[Int]]
    private let function: @Sendable (Float, Float, Float) -> Float

    init(
        _ description: LayerDescription, summary: String, _ function: @escaping @Sendable (Float, Float, Float) -> Float
    ) throws(ModelError.Reason) {
        let inputs = [description.input] + description.others
        let rank = inputs.map(\.extents.count).max() ?? 0
        let shapes = inputs.map { Array(repeating: 1, count: rank - $0.extents.count) + $0.extents }
        let extents = (0..<rank).map { axis in shapes.map { $0[axis] }.first { $0 != 1 } ?? 1 }
        guard inputs.allSatisfy(\.isRowMajor),
            shapes.allSatisfy({ zip($0, extents).allSatisfy { $0 == $1 || $0 == 1 } })
        else {
            let words = inputs.map(\.description).joined(separator: ", ")
            throw description.problem("reads \(words), which are not arrays that fit each other")
        }
        try description.elementCount(extents)
        let strides = shapes.map { shape in
            shape.indices.map { shape[$0] == 1 ? 0 : shape[($0 + 1)...].reduce(1, *) }
        }
        outputShape = TensorShape(extents: extents)
        (self.summary, self.extents, self.strides, self.function) = (summary, extents, strides, function)
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 4 * outputShape.elementCount) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let sources = (0..<3).map { pass.input(min($0, strides.count - 1)).floats(image) }
            let steps = (0..<3).map { strides[min($0, strides.count - 1)] }
            var to = pass.output.floats(image)
            func walk(_ axis: Int, _ a: Int, _ b: Int, _ c: Int) {
                guard axis < extents.count else {
                    to.pointee = function(sources[0][a], sources[1][b], sources[2][c])
                    to += 1
                    return
                }
                for index in 0..<extents[axis] {
                    walk(axis + 1, a + index * steps[0][axis], b + index * steps[1][axis], c + index * steps[2][axis])
                }
            }
            walk(0, 0, 0, 0)
        }
    }
}
