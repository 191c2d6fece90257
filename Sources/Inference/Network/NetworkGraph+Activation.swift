extension NetworkGraph {
    /// A function of one number, applied to every element.
    public struct Activation: Sendable, Hashable, Codable {
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

        private enum CodingKeys: String, CodingKey, CaseIterable { case kind = "function", alpha, beta }

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

        static let keys = Set(CodingKeys.allCases.map(\.rawValue))
    }
}
