import Compute

/// One step of a network. A new operation conforms to it, and gets a case in
/// ``NetworkGraph/Operation`` and a line in ``LayerDescription/makeLayer()``.
protocol Layer: Sendable {
    var name: String { get }
    /// The names of the input tensors.
    var inputs: [String] { get }
    /// The input that is read at the offsets that the output is written at, if any.
    var residualInput: String? { get }
    /// The tensor that the layer stands for; it computes nothing.
    var constant: AlignedFloats? { get }
    var outputShape: TensorShape { get }
    /// The zero padding around its first input, in pixels.
    var padding: Int { get }
    var parameterCount: Int { get }
    /// Multiply-adds for one image.
    var multiplyAdds: Int { get }
    /// The work for one image: multiply-adds in whole blocks of channels, and what else is read or computed in terms of
    /// them; see ``TensorShape/operationCount(ofElements:)``. A bound of the time, so no layer goes without.
    var operationCount: Int { get }
    /// Bytes of tables that the layer keeps besides weights and constants.
    var tableBytes: Int { get }
    /// For display: "convolution 3×3, stride 2, ReLU".
    var summary: String { get }
    /// The number of independent parts of the work for one image.
    var parts: Int { get }
    /// Floats of scratch memory per thread.
    var scratchCount: Int { get }

    /// Computes `parts` of the output for every image of the batch.
    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget)
}

extension Layer {
    var padding: Int { 0 }
    var residualInput: String? { nil }
    var constant: AlignedFloats? { nil }
    var parameterCount: Int { 0 }
    var multiplyAdds: Int { 0 }
    var tableBytes: Int { 0 }
    var parts: Int { 1 }
    var scratchCount: Int { 0 }
}
