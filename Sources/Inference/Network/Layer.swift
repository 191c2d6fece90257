import Compute

/// One step of a network. A new kind conforms to this, and gets a case in
/// ``NetworkGraph/Operation`` and a line in ``LayerDescription/makeLayer()``.
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
