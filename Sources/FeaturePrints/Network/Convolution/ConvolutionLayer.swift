import CKernels
import Kernels

/// A dense k×k convolution with bias; a residual is added and ReLU applied as the result is stored.
struct ConvolutionLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let padding: Int
    private let geometry: ConvolutionGeometry
    private let method: any ConvolutionMethod

    init(_ description: LayerDescription) throws(ModelError.Reason) {
        let node = description.node
        let input = description.input
        if case .vector = input { throw description.problem("is a convolution and its input is a vector") }
        let outputs = try description.required(node.outputs, "outputs", in: 1...65_536)
        let kernel = try description.required(node.kernel, "kernel", in: 1...15)
        let stride = try description.required(node.stride, "stride", in: 1...8)
        padding = try description.required(node.padding, "padding", in: 0...7)
        name = node.name
        inputs = [node.input] + (node.residual.map { [$0] } ?? [])
        let width = (input.width + 2 * padding - kernel) / stride + 1
        let height = (input.height + 2 * padding - kernel) / stride + 1
        guard input.width + 2 * padding >= kernel, input.height + 2 * padding >= kernel else {
            throw description.problem("has a kernel of \(kernel), larger than its input \(input.description)")
        }
        outputShape = .map(channels: outputs, width: width, height: height)
        if let residual = description.residual, residual != outputShape {
            throw description.problem("adds \(residual.description) to its \(outputShape.description)")
        }
        geometry = ConvolutionGeometry(
            inputChannels: input.channels, outputs: outputs, width: width, height: height, kernel: kernel,
            stride: stride, padding: padding, relu: node.relu ?? false)
        let weightName = try description.required(node.weight, "weight")
        let biasName = try description.required(node.bias, "bias")
        let weights = try description.file.floats(weightName, shape: [outputs, input.channels, kernel, kernel])
        let bias = try description.file.floats(biasName, shape: [outputs])
        method =
            if let scale = description.quantization?.input {
                QuantizedConvolution(
                    geometry, weights: weights, bias: bias, inputScale: scale,
                    residualScale: description.quantization?.residual, outputScale: description.quantization?.output)
            } else if description.quantization?.output == nil, WinogradConvolution.isFaster(for: geometry) {
                WinogradConvolution(geometry, weights: weights, bias: bias)
            } else {
                DirectConvolution(geometry, weights: weights, bias: bias, outputScale: description.quantization?.output)
            }
    }

    var parameterCount: Int { geometry.outputs * (geometry.inputChannels * geometry.kernel * geometry.kernel + 1) }

    var multiplyAdds: Int {
        geometry.outputs * geometry.width * geometry.height * geometry.inputChannels * geometry.kernel * geometry.kernel
    }

    var summary: String {
        "convolution \(geometry.kernel)×\(geometry.kernel)" + (geometry.stride > 1 ? ", stride \(geometry.stride)" : "")
            + (inputs.count > 1 ? ", + \(inputs[1])" : "") + (geometry.relu ? ", ReLU" : "") + method.summary
    }

    var parts: Int { method.parts }
    var scratchCount: Int { method.scratchCount }

    func run(_ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>, kernels: KernelTier) {
        for part in parts {
            for image in 0..<batch { method.run(part, image: image, tensors: tensors, scratch: scratch, kernels: kernels) }
        }
    }
}

/// What a convolution computes, apart from its weights.
struct ConvolutionGeometry: Sendable {
    let inputChannels: Int
    let outputs: Int
    /// Of the output.
    let width: Int
    let height: Int
    let kernel: Int
    let stride: Int
    let padding: Int
    let relu: Bool

    var inputBlocks: Int { (inputChannels + TensorShape.channelBlock - 1) / TensorShape.channelBlock }
    var outputBlocks: Int { (outputs + TensorShape.channelBlock - 1) / TensorShape.channelBlock }

    /// How far the tap (0, 0) of the output pixel (0, 0) is from a tensor's beginning.
    func firstTap(in input: TensorLayout) -> Int { (input.border - padding) * (input.rowStride + input.pixelStride) }
}

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

/// Parts of two output blocks, which a kernel's widest tile takes at once, and about a quarter of the
/// rows: enough to share out, and weights are still used many times. Of narrow maps, which have many
/// blocks, a part is of all rows.
struct BlockParts: Sendable {
    private static let blocksPerPart = 2
    /// Up to this width a tile may be of several rows.
    private static let narrow = 7
    let blocks: Int
    let rows: Int
    private let rowsPerPart: Int
    private let rowParts: Int

    init(_ geometry: ConvolutionGeometry) {
        blocks = geometry.outputBlocks
        rows = geometry.height
        rowsPerPart = geometry.width <= Self.narrow ? geometry.height : max(1, (geometry.height + 3) / 4)
        rowParts = (geometry.height + rowsPerPart - 1) / rowsPerPart
    }

    var count: Int { (blocks + Self.blocksPerPart - 1) / Self.blocksPerPart * rowParts }

    subscript(part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) {
        let block = part / rowParts * Self.blocksPerPart
        let row = part % rowParts * rowsPerPart
        return (Int32(block)..<Int32(min(block + Self.blocksPerPart, blocks)), Int32(row)..<Int32(min(row + rowsPerPart, rows)))
    }
}
