import Compute

/// A way to compute a convolution.
protocol ConvolutionMethod: Sendable {
    /// After a layer's own summary: “, Winograd”.
    var summary: String { get }
    /// The independent parts that the work for one image can be cut into.
    var parts: Int { get }
    /// Floats of memory of its own that a part needs.
    var scratchCount: Int { get }

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: KernelTier)
}
