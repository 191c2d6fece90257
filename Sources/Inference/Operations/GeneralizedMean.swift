import CKernels
import Compute

extension NetworkGraph {
    /// Pooling: the `power`th root of the mean of `power`th powers, per channel.
    public struct GeneralizedMean: RunnableOperation {
        /// The power, 1/8...8.
        public var power: Float
        /// Smaller values count as this; at most 8192.
        public var epsilon: Float

        /// Pooling; it is checked when a network is built from the graph.
        public init(power: Float, epsilon: Float) { (self.power, self.epsilon) = (power, epsilon) }

        enum CodingKeys: String, CodingKey, CaseIterable { case power, epsilon }

        static let names = ["generalized_mean"]
        var int8: Int8Rules { Int8Rules(readsCodes: true) }
        func kind(of input: TensorKind) -> TensorKind { .vector }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try GeneralizedMeanLayer(self, description)
        }
    }
}

/// Generalized-mean pooling: per channel, the `power`th root of the mean of the values' `power`th powers.
///
/// Radenović, Tolias, Chum: "Fine-tuning CNN Image Retrieval with No Human Annotation" (TPAMI 2018).
///
/// The kernels of SIMD targets clamp powers and their sums to 2⁻¹²⁶...2¹²⁷ (`exponential.h`), and the portable ones do
/// not. Within the limits below they agree for values up to 2¹³; values below 2^(−126/power), at most 2⁻¹⁵, may count
/// as that.
private struct GeneralizedMeanLayer: Layer {
    let outputShape: TensorShape
    private let power: Float
    private let epsilon: Float
    private let inputCount: Int

    /// A map has at most 2²³ pixels, so that the sum of 2¹³ to this power is at most 2¹²⁷. Below 1/8, the root would
    /// multiply rounding errors by more than eight.
    private static let powers: ClosedRange<Float> = 0.125...8
    private static let epsilons: ClosedRange<Float> = Float.leastNormalMagnitude...8192

    init(_ mean: NetworkGraph.GeneralizedMean, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(let channels, let width, let height) = description.input else {
            throw description.problem("pools, but its input \(description.input.description) is not a feature map")
        }
        outputShape = .vector(length: channels)
        scratchCount = description.quantization?.input == nil ? 0 : width * height * TensorShape.channelBlock
        (power, epsilon) = (mean.power, mean.epsilon)
        inputCount = description.input.elementCount
        guard Self.powers.contains(power), Self.epsilons.contains(epsilon) else {
            throw description.problem(
                "has power \(power) and epsilon \(epsilon): the power must be in "
                    + "\(Self.powers.lowerBound)…\(Self.powers.upperBound), and epsilon positive and at most "
                    + "\(Self.epsilons.upperBound)")
        }
    }

    var parameterCount: Int { 1 }
    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * (scratchCount + inputCount)) }
    /// The pixels of a block, for an input in int8.
    let scratchCount: Int
    var summary: String { "generalized mean, power \(power)" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let layout = pass.input.layout
        let block = TensorShape.channelBlock
        for image in 0..<pass.batch {
            let output = pass.output.floats(image)
            withUnsafeTemporaryAllocation(of: Float.self, capacity: block) { means in
                for first in stride(from: 0, to: outputShape.channels, by: block) {
                    let (width, height) = (layout.shape.width, layout.shape.height)
                    var (plane, rowStride) = (UnsafePointer(pass.scratch), width * block)
                    if layout.quantization == nil {
                        plane = UnsafePointer(pass.input.floats(image) + first / block * layout.blockStride)
                        (plane, rowStride) = (plane + layout.origin, layout.rowStride)
                    } else {
                        for row in 0..<height {
                            _ = pass.input.rows(
                                row..<(row + 1), ofBlock: first / block, image: image,
                                widened: pass.scratch + row * rowStride, kernels: pass.kernels)
                        }
                    }
                    pass.kernels.table.generalized_mean(
                        plane, rowStride, Int32(width), Int32(height), power, epsilon, means.baseAddress)
                    for channel in first..<min(first + block, outputShape.channels) {
                        output[channel] = means[channel - first]
                    }
                }
            }
        }
    }
}
