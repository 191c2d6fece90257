import Compute

extension NetworkGraph {
    /// The matrix product of two tensors: of the last two axes, for each element of the axes before them, in which
    /// extents of 1 are repeated.
    public struct MatrixProduct: RunnableOperation {
        /// The node of the right side.
        public var other: String

        /// A product with a right side.
        public init(other: String) { self.other = other }

        enum CodingKeys: String, CodingKey, CaseIterable { case other }

        static let names = ["matrix_product"]
        var otherInputs: [String] { [other] }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try MatrixProductLayer(self, description)
        }
    }
}

/// The matrix product of two arrays: of the last two axes, for each element of the axes before them.
struct MatrixProductLayer: Layer {
    let outputShape: TensorShape
    private let kernel: MatrixKernel
    /// The indices of both matrices of each product.
    private let pairs: [(left: Int, right: Int)]
    private let zeros: AlignedFloats
    private let other: String

    init(_ product: NetworkGraph.MatrixProduct, _ description: LayerDescription) throws(ModelError.Reason) {
        let (left, right) = (description.input, description.others[0])
        let (a, b) = (left.extents, right.extents)
        guard left.isRowMajor, right.isRowMajor, a.count >= 2, b.count >= 2, a[a.count - 1] == b[b.count - 2],
            let walk = BroadcastWalk(Array(a.dropLast(2)) + [1], Array(b.dropLast(2)) + [1])
        else { throw description.problem("multiplies \(left.description) by \(right.description)") }
        kernel = MatrixKernel(rows: a[a.count - 2], depth: a[a.count - 1], columns: b[b.count - 1])
        let shape = Array(walk.extents.dropLast()) + [kernel.rows, kernel.columns]
        try description.elementCount(shape)
        // A place is kept for each product.
        _ = try description.checked(walk.extents.reduce(1, *), "number of products", in: 1...(1 << 16))
        outputShape = TensorShape(extents: shape)
        var pairs: [(left: Int, right: Int)] = []
        walk.forEachRow { left, right, _ in
            for index in 0..<walk.innerCount {
                pairs.append((left + index * walk.innerLeft, right + index * walk.innerRight))
            }
        }
        self.pairs = pairs
        other = product.other
        zeros = AlignedFloats(count: kernel.blocks * TensorShape.channelBlock)
    }

    var multiplyAdds: Int { pairs.count * kernel.rows * kernel.depth * kernel.columns }
    /// The work, with the packing of the right sides.
    var operationCount: Int {
        pairs.count * (kernel.rows * kernel.packedCount + TensorShape.operationCount(ofElements: kernel.packedCount))
    }
    var tableBytes: Int {
        pairs.count * MemoryLayout<(left: Int, right: Int)>.stride + zeros.count * MemoryLayout<Float>.stride
    }
    var summary: String { "matrix product with \(other)" }
    var parts: Int { pairs.count }
    var scratchCount: Int { kernel.packedCount + kernel.scratchCount }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let (leftCount, rightCount) = (kernel.rows * kernel.depth, kernel.depth * kernel.columns)
        for image in 0..<pass.batch {
            let (left, right) = (pass.input(0).floats(image), pass.input(1).floats(image))
            let output = pass.output.floats(image)
            for part in parts {
                kernel.pack(right + pairs[part].right * rightCount, to: pass.scratch)
                kernel.run(
                    left + pairs[part].left * leftCount, pass.scratch, blocks: 0..<kernel.blocks, bias: zeros.pointer,
                    to: output + part * kernel.rows * kernel.columns, scratch: pass.scratch + kernel.packedCount,
                    kernels: pass.kernels)
            }
        }
    }
}
