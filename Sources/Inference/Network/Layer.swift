/// One step of a network: what a ``RunnableOperation`` makes of its inputs' shapes and its weights.
protocol Layer: Sendable {
    var outputShape: TensorShape { get }
    /// The tensor that the layer stands for; it computes nothing.
    var constant: AlignedFloats? { get }
    /// Whether the output is the memory of the input in another shape; the layer computes nothing then.
    var isReshape: Bool { get }
    /// The zero padding around its first input, in pixels.
    var padding: Int { get }
    var parameterCount: Int { get }
    /// The parameters that a batch reads less often than its images one by one.
    var batchedParameterCount: Int { get }
    /// Multiply-adds for one image.
    var multiplyAdds: Int { get }
    /// The work for one image: multiply-adds in whole blocks of channels, and what else is read or computed in terms of
    /// them; see ``TensorShape/operationCount(ofElements:)``. A bound of the time, so no layer goes without.
    var operationCount: Int { get }
    /// Bytes of tables that the layer keeps besides weights and constants.
    var tableBytes: Int { get }
    /// The text for display: "convolution 3×3, stride 2, ReLU".
    var summary: String { get }
    /// The number of independent parts of the work for one image.
    var parts: Int { get }
    /// Floats of scratch memory per thread.
    var scratchCount: Int { get }

    /// Computes `parts` of the output for every image of the batch.
    func run(_ parts: Range<Int>, in pass: LayerPass)
}

extension Layer {
    var constant: AlignedFloats? { nil }
    var isReshape: Bool { false }
    var padding: Int { 0 }
    var parameterCount: Int { 0 }
    var batchedParameterCount: Int { parameterCount }
    var multiplyAdds: Int { 0 }
    var tableBytes: Int { 0 }
    var parts: Int { 1 }
    var scratchCount: Int { 0 }
}

/// A layer with its place in a network.
struct NetworkLayer: Sendable {
    let name: String
    /// The names of the tensors that are read.
    let inputs: [String]
    /// The one of them that is read at the offsets that the output is written at, if any.
    let residual: String?
    let layer: any Layer

    init(name: String, inputs: [String], layer: any Layer) {
        (self.name, self.inputs, self.layer, residual) = (name, inputs, layer, nil)
    }

    /// - Throws: `unusableGraph` or `unusableTensor` if the layer cannot be run.
    init(_ description: LayerDescription) throws(ModelError.Reason) {
        let node = description.node
        layer = try node.runnable.makeLayer(description)
        name = node.name
        inputs = layer.constant == nil ? [node.input] + node.otherInputs : []
        residual = node.runnable.residual
    }
}

/// A node of the graph with what it needs to become a layer.
struct LayerDescription {
    let node: NetworkGraph.Node
    let input: TensorShape
    let others: [TensorShape]
    let file: SafeTensorsFile
    /// Nil in a network that computes in float32.
    let quantization: Quantization.LayerParameters?

    func checked(_ value: Int, _ key: String, in range: ClosedRange<Int>) throws(ModelError.Reason) -> Int {
        guard range.contains(value) else {
            throw problem("has \(key) \(value), outside \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    /// Refuses the image, which has no blocks of channels.
    func checkIsNoImage() throws(ModelError.Reason) {
        for case .image in [input] + others { throw problem("reads the image; it needs a map of it") }
    }

    /// An axis of a tensor, which may have none.
    func checkedAxis(_ axis: Int, of extents: [Int]) throws(ModelError.Reason) -> Int {
        guard extents.indices.contains(axis) else { throw problem("has axis \(axis), but its input is \(extents)") }
        return axis
    }

    /// The number of elements of a shape that a file states.
    @discardableResult
    func elementCount(_ shape: [Int]) throws(ModelError.Reason) -> Int {
        var count = 1
        guard shape.count <= Self.mostAxes else { throw problem("has \(shape.count) axes, more than \(Self.mostAxes)") }
        for extent in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: extent)
            guard extent > 0, !overflow, product <= Self.mostElements else {
                throw problem("has the impossible shape \(shape)")
            }
            count = product
        }
        return count
    }

    /// Layers walk over axes by recursion.
    private static let mostAxes = 16
    /// The most floats that a pass over one image may have.
    private static let mostElements = 128 << 20

    func problem(_ words: String) -> ModelError.Reason { .unusableGraph("layer “\(node.name)” \(words)") }
}

/// Parts of a tensor for layers that treat every element alike: a map's blocks, or pieces of an array.
enum ElementParts {
    private static let piece = 16_384

    static func count(_ shape: TensorShape) -> Int {
        if shape.isRowMajor { return (shape.elementCount + piece - 1) / piece }
        return TensorShape.blockCount(shape.channels)
    }

    /// Calls `body` with the offsets of consecutive elements in both tensors, and with their number; the gaps of a last
    /// block are among them.
    ///
    /// - Precondition: both have the same shape.
    static func forEachRow(
        of part: Int, _ input: TensorLayout, _ output: TensorLayout,
        _ body: (_ from: Int, _ to: Int, _ count: Int) -> Void
    ) {
        let shape = output.shape
        guard !shape.isRowMajor else {
            let start = part * piece
            body(start, start, min(piece, shape.elementCount - start))
            return
        }
        for row in 0..<shape.height {
            body(
                input.origin + part * input.blockStride + row * input.rowStride,
                output.origin + part * output.blockStride + row * output.rowStride, shape.width * output.pixelStride)
        }
    }
}
