import Compute

/// A way to compute a convolution.
protocol ConvolutionMethod: Sendable {
    /// After a layer's own summary: “, Winograd”.
    var summary: String { get }
    /// The number of independent parts of the work for one image.
    var parts: Int { get }
    /// Floats of scratch memory per part.
    var scratchCount: Int { get }

    /// The blocks and rows of the output that a part computes.
    func region(_ part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>)

    func run(_ part: Int, image: Int, tensors: LayerTensors, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget)
}
