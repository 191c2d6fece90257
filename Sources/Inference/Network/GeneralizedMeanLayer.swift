import CKernels
import Compute

/// Generalized-mean pooling: per channel, the `power`th root of the mean of the values' `power`th powers.
///
/// Radenović, Tolias, Chum: "Fine-tuning CNN Image Retrieval with No Human Annotation" (TPAMI 2018).
struct GeneralizedMeanLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let power: Float
    private let epsilon: Float

    init(power: Float, epsilon: Float, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(let channels, _, _) = description.input else {
            throw description.problem("pools, but its input \(description.input.description) is not a feature map")
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = .vector(length: channels)
        self.power = power
        self.epsilon = epsilon
        guard power.isFinite, power > 0, epsilon.isFinite, epsilon > 0 else {
            throw description.problem("has power \(power) and epsilon \(epsilon); both must be positive")
        }
    }

    var parameterCount: Int { 1 }
    var multiplyAdds: Int { 0 }
    var summary: String { "generalized mean, power \(power)" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let layout = tensors.input.layout
        let block = TensorShape.channelBlock
        for image in 0..<batch {
            let output = tensors.output.floats(image)
            withUnsafeTemporaryAllocation(of: Float.self, capacity: block) { means in
                for first in stride(from: 0, to: outputShape.channels, by: block) {
                    let plane = tensors.input.floats(image) + first / block * layout.blockStride + layout.origin
                    kernels.table.generalized_mean(
                        plane, layout.rowStride, Int32(layout.shape.width), Int32(layout.shape.height), power, epsilon,
                        means.baseAddress)
                    for channel in first..<min(first + block, outputShape.channels) {
                        output[channel] = means[channel - first]
                    }
                }
            }
        }
    }
}
