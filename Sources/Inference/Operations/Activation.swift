import CKernels
import Compute

extension NetworkGraph {
    /// A function of one number, applied to every element.
    public struct Activation: RunnableOperation {
        /// Which function; `alpha` and `beta` are its parameters.
        public enum Kind: String, Sendable, Codable, CaseIterable {
            /// min(max(x, alpha), beta)
            case clamp
            /// x, times alpha below zero
            case leakyReLU = "leaky_relu"
            /// x, and alpha · (eˣ − 1) below zero
            case elu
            /// 1 / (1 + e⁻ˣ)
            case sigmoid
            /// alpha · x + beta, clamped to 0…1
            case hardSigmoid = "hard_sigmoid"
            /// x times x / 6 + 1 / 2, clamped to 0…1
            case hardSwish = "hard_swish"
            /// x · sigmoid(x)
            case silu
            /// x / 2 · (1 + erf(x / √2))
            case gelu
            /// x / 2 · (1 + tanh(√(2 / π) · (x + 0.044715 · x³)))
            case geluTanh = "gelu_tanh"
            /// x · tanh(log(1 + eˣ))
            case mish
            /// log(1 + eˣ)
            case softplus
            /// The hyperbolic tangent.
            case tanh
            /// The error function.
            case erf
            /// eˣ
            case exp
            /// The natural logarithm.
            case log
            /// The square root.
            case sqrt
            /// |x|
            case abs
            /// −x
            case negate
            /// alpha · min(max(x / alpha, beta), beta + 255) with x / alpha rounded to an integer, halves to the even
            /// one: what is left of a number that is stored in eight bits
            case quantize
            /// 1 / x
            case reciprocal
        }

        /// Which function.
        public var kind: Kind
        /// See ``Kind``; 0 for a function without parameters.
        public var alpha: Float
        /// See ``Kind``; 0 for a function without a second parameter.
        public var beta: Float

        /// A function with its parameters.
        public init(_ kind: Kind, alpha: Float = 0, beta: Float = 0) {
            (self.kind, self.alpha, self.beta) = (kind, alpha, beta)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case kind = "function", alpha, beta }

        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            kind = try values.decode(Kind.self, forKey: .kind)
            alpha = try values.decodeIfPresent(Float.self, forKey: .alpha) ?? 0
            beta = try values.decodeIfPresent(Float.self, forKey: .beta) ?? 0
        }

        public func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(kind, forKey: .kind)
            if alpha != 0 { try values.encode(alpha, forKey: .alpha) }
            if beta != 0 { try values.encode(beta, forKey: .beta) }
        }

        static let names = ["activation"]
        func kind(of input: TensorKind) -> TensorKind { input }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ActivationLayer(self, description)
        }
    }
}

/// A function of every element of a map or an array.
struct ActivationLayer: Layer {
    let outputShape: TensorShape
    let activation: NetworkGraph.Activation

    init(_ activation: NetworkGraph.Activation, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        outputShape = description.input
        self.activation = activation
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { activation.kind.rawValue }
    var parts: Int { ElementParts.count(outputShape) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        var function = activation.kernel
        for image in 0..<pass.batch {
            let input = pass.input.floats(image)
            let output = pass.output.floats(image)
            for part in parts {
                ElementParts.forEachRow(of: part, pass.input.layout, pass.output.layout) { from, to, count in
                    pass.kernels.table.activate(&function, input + from, count, output + to)
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
            case .quantize: LK_QUANTIZE
            case .reciprocal: LK_RECIPROCAL
            }
        return lk_activation(kind: kind, alpha: alpha, beta: beta)
    }

    /// Applies the function to a region of a map.
    func apply(to map: TensorSlot, _ region: MapRegion, image: Int, kernels: SIMDTarget) {
        var function = kernel
        let count = map.layout.shape.width * map.layout.pixelStride
        for block in region.blocks {
            for row in region.rows {
                let line = map.floats(image) + map.offset(ofBlock: block, row: row)
                kernels.table.activate(&function, line, count, line)
            }
        }
    }
}
