import CKernels
import Compute

/// A function of every element of a map or an array.
struct ActivationLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let activation: NetworkGraph.Activation

    init(_ activation: NetworkGraph.Activation, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        name = description.node.name
        inputs = [description.node.input]
        outputShape = description.input
        self.activation = activation
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { activation.kind.rawValue }
    var parts: Int { ElementParts.count(outputShape) }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        var function = activation.kernel
        for image in 0..<batch {
            let input = tensors.input.floats(image)
            let output = tensors.output.floats(image)
            for part in parts {
                ElementParts.forEachRow(of: part, tensors.input.layout, tensors.output.layout) { from, to, count in
                    kernels.table.activate(&function, input + from, count, output + to)
                }
            }
        }
    }
}

extension NetworkGraph.Activation {
    var kernel: lk_activation {
        let kind: lk_activation_kind =
            switch self.kind {
            case .clamp: LK_CLAMP
            case .leakyReLU: LK_LEAKY_RELU
            case .elu: LK_ELU
            case .sigmoid: LK_SIGMOID
            case .hardSigmoid: LK_HARD_SIGMOID
            case .hardSwish: LK_HARD_SWISH
            case .silu: LK_SILU
            case .gelu: LK_GELU
            case .geluTanh: LK_GELU_TANH
            case .mish: LK_MISH
            case .softplus: LK_SOFTPLUS
            case .tanh: LK_TANH
            case .erf: LK_ERF
            case .exp: LK_EXP
            case .log: LK_LOG
            case .sqrt: LK_SQRT
            case .abs: LK_ABS
            case .negate: LK_NEGATE
            case .reciprocal: LK_RECIPROCAL
            }
        return lk_activation(kind: kind, alpha: alpha, beta: beta)
    }

    /// Applies the function to a region of a map.
    func apply(to map: LayerTensors.Slot, image: Int, blocks: Range<Int>, rows: Range<Int>, kernels: SIMDTarget) {
        var function = kernel
        let layout = map.layout
        let start = map.floats(image) + layout.origin
        let count = layout.shape.width * layout.pixelStride
        for block in blocks {
            for row in rows {
                let line = start + block * layout.blockStride + row * layout.rowStride
                kernels.table.activate(&function, line, count, line)
            }
        }
    }
}
