import Kernels

/// One step of a network. New kinds conform to this and are named in ``LayerKind``.
protocol Layer: Sendable {
    var name: String { get }
    /// The names of the tensors that are read.
    var inputs: [String] { get }
    var outputShape: TensorShape { get }
    /// Zeros that this layer wants around its input.
    var padding: Int { get }
    var parameterCount: Int { get }
    /// Multiply-adds for one image.
    var multiplyAdds: Int { get }
    /// In words, for people: "convolution 3×3, stride 2, ReLU".
    var summary: String { get }
    /// The independent parts that the work for one image can be cut into.
    var parts: Int { get }
    /// Floats of memory of its own that a thread needs while it runs.
    var scratchCount: Int { get }

    /// Computes `parts` of the output for every image of the batch.
    func run(_ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>, kernels: KernelTier)
}

extension Layer {
    var padding: Int { 0 }
    var parts: Int { 1 }
    var scratchCount: Int { 0 }
}

/// The memory that a layer reads and writes: one tensor an image, `count` floats apart.
struct LayerTensors {
    struct Slot {
        let base: UnsafeMutablePointer<Float>
        let layout: TensorLayout

        func floats(_ image: Int) -> UnsafeMutablePointer<Float> {
            precondition(layout.element == .float32, "bytes are not floats")
            return base + image * layout.count
        }

        func bytes(_ image: Int) -> UnsafeMutablePointer<UInt8> {
            precondition(layout.element == .uint8, "floats are not bytes")
            return UnsafeMutableRawPointer(base + image * layout.count).assumingMemoryBound(to: UInt8.self)
        }

        /// Writes the zeros around an image; the memory may have held another tensor.
        func clearBorder(_ image: Int) {
            switch layout.element {
            case .float32: layout.clearBorder(floats(image))
            case .uint8: layout.clearBorder(bytes(image))
            }
        }
    }

    let input: Slot
    let residual: Slot?
    let output: Slot
}

/// The layer types that a graph may name: one line each.
enum LayerKind {
    typealias Builder = @Sendable (LayerDescription) throws(ModelError.Reason) -> any Layer

    static let builders: [String: Builder] = [
        "convolution": { description throws(ModelError.Reason) in try ConvolutionLayer(description) },
        "generalized_mean": { description throws(ModelError.Reason) in try GeneralizedMeanLayer(description) },
        "linear": { description throws(ModelError.Reason) in try LinearLayer(description) },
        "corner_votes": { description throws(ModelError.Reason) in try CornerVotesLayer(description) },
        "l2_normalize": { description throws(ModelError.Reason) in try L2NormalizationLayer(description) },
    ]
}

/// A node of the graph with what it needs to become a layer.
struct LayerDescription {
    let node: NetworkGraph.Node
    let input: TensorShape
    let residual: TensorShape?
    let file: SafeTensorsFile
    /// Nil where all is computed in floats.
    let quantization: Quantization.Scales?

    func required<Value>(_ value: Value?, _ key: String) throws(ModelError.Reason) -> Value {
        guard let value else { throw problem("needs “\(key)”") }
        return value
    }

    func required(_ value: Int?, _ key: String, in range: ClosedRange<Int>) throws(ModelError.Reason) -> Int {
        let value = try required(value, key)
        guard range.contains(value) else {
            throw problem("has \(key) \(value), outside \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    func problem(_ words: String) -> ModelError.Reason { .unusableGraph("layer “\(node.name)” \(words)") }
}
