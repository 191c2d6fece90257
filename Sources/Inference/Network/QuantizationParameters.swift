/// How a tensor's unsigned 8-bit codes stand for numbers: `scale · (code − zeroPoint)`.
///
/// Jacob et al.: "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
/// (CVPR 2018).
struct QuantizationParameters: Sendable, Equatable {
    /// The value of one step.
    let scale: Float
    /// The code of 0.
    let zeroPoint: UInt8

    /// All codes for a range.
    init(_ range: ActivationRange) {
        scale = (range.upper - range.lower) / 255
        zeroPoint = UInt8((-range.lower / scale).rounded())
    }
}
