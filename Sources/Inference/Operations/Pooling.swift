import CKernels
import Compute

extension NetworkGraph {
    /// The largest value or the mean of every window of a map. What a window covers outside the map is left out.
    public struct Pooling: RunnableOperation {
        /// Which number a window gives; in JSON the name of the operation.
        public enum Function: String, Sendable, Codable, CaseIterable {
            /// The largest.
            case maximum = "max_pool"
            /// The mean.
            case mean = "average_pool"
        }

        /// Which number a window gives.
        public var function: Function
        /// The size of the windows.
        public var kernel: Extent
        /// The steps between windows.
        public var stride: Extent
        /// Pixels around the map that windows may cover.
        public var padding: Padding
        /// The steps between the pixels of a window.
        public var dilation: Extent
        /// Whether the padding counts as zeros in a mean.
        public var countsPadding: Bool
        /// Whether a last window counts that lies only partly on the map (ceil mode).
        public var roundsUp: Bool

        /// Windows; they are checked when a network is built from the graph.
        public init(
            _ function: Function, kernel: Extent, stride: Extent, padding: Padding, dilation: Extent = 1,
            countsPadding: Bool = false, roundsUp: Bool = false
        ) {
            (self.function, self.kernel, self.stride, self.padding) = (function, kernel, stride, padding)
            (self.dilation, self.countsPadding, self.roundsUp) = (dilation, countsPadding, roundsUp)
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case function = "op"
            case kernel, stride, padding, dilation
            case countsPadding = "counts_padding"
            case roundsUp = "rounds_up"
        }

        static let names = Function.allCases.map(\.rawValue)
        var name: String { function.rawValue }
        var int8: Int8Rules { Int8Rules(readsCodes: function == .mean, keepsCodes: function == .maximum) }
        func kind(of input: TensorKind) -> TensorKind { .map }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try PoolingLayer(self, description)
        }
    }
}

/// The largest value or the mean of every window of a map.
private struct PoolingLayer: Layer {
    let outputShape: TensorShape
    private let pooling: NetworkGraph.Pooling
    private var mean: Bool { pooling.function == .mean }

    init(_ pooling: NetworkGraph.Pooling, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(let channels, let width, let height) = description.input else {
            throw description.problem("pools, but its input \(description.input.description) is not a map")
        }
        let window = try WindowGeometry(
            kernel: pooling.kernel, stride: pooling.stride, padding: pooling.padding, dilation: pooling.dilation,
            roundsUp: pooling.roundsUp, description)
        // Every window then covers a pixel of the map.
        func reaches(_ padding: Int, _ kernel: Int, _ dilation: Int, _ size: Int) -> Bool {
            padding <= (kernel - 1) * dilation && (kernel == 1 || dilation <= size)
        }
        let padding = pooling.padding
        for side in [padding.top, padding.bottom] {
            guard reaches(side, pooling.kernel.height, pooling.dilation.height, height) else {
                throw description.problem("has windows that lie outside its input \(description.input.description)")
            }
        }
        for side in [padding.left, padding.right] {
            guard reaches(side, pooling.kernel.width, pooling.dilation.width, width) else {
                throw description.problem("has windows that lie outside its input \(description.input.description)")
            }
        }
        outputShape = .map(channels: channels, width: window.outputs.width, height: window.outputs.height)
        self.pooling = pooling
    }

    var summary: String {
        (mean ? "mean of " : "largest of ") + pooling.kernel.description
            + (pooling.stride == 1 ? "" : ", stride \(pooling.stride.description)")
    }
    /// A window's taps for each output, in whole blocks of channels.
    var operationCount: Int {
        let taps = pooling.kernel.height * pooling.kernel.width
        return parts * TensorShape.channelBlock * outputShape.width * outputShape.height * taps
            + TensorShape.operationCount(ofElements: outputShape.elementCount)
    }
    var parts: Int { ElementParts.count(outputShape) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        var kernel = lk_pooling()
        kernel.input_row_stride = input.rowStride
        kernel.input_width = Int32(input.shape.width)
        kernel.input_height = Int32(input.shape.height)
        (kernel.kernel_width, kernel.kernel_height) = (Int32(pooling.kernel.width), Int32(pooling.kernel.height))
        (kernel.stride_x, kernel.stride_y) = (Int32(pooling.stride.width), Int32(pooling.stride.height))
        (kernel.dilation_x, kernel.dilation_y) = (Int32(pooling.dilation.width), Int32(pooling.dilation.height))
        (kernel.padding_left, kernel.padding_top) = (Int32(pooling.padding.left), Int32(pooling.padding.top))
        (kernel.padding_right, kernel.padding_bottom) = (Int32(pooling.padding.right), Int32(pooling.padding.bottom))
        kernel.padding_counts = pooling.countsPadding
        kernel.mean = mean
        kernel.output_row_stride = output.rowStride
        kernel.output_width = Int32(outputShape.width)
        for image in 0..<pass.batch {
            for part in parts {
                let (from, to) = (
                    input.origin + part * input.blockStride, output.origin + part * output.blockStride
                )
                if let codes = input.quantization {
                    kernel.quantized_input = UnsafePointer(pass.input.bytes(image) + from)
                    (kernel.scale, kernel.zero_point) = (codes.scale, codes.zeroPoint)
                    if mean {
                        kernel.output = pass.output.floats(image) + to
                    } else {
                        kernel.quantized_output = pass.output.bytes(image) + to
                    }
                    lk_pool_quantized(&kernel, 0, Int32(outputShape.height))
                } else {
                    kernel.input = UnsafePointer(pass.input.floats(image) + from)
                    kernel.output = pass.output.floats(image) + to
                    pass.kernels.table.pool(&kernel, 0, Int32(outputShape.height))
                }
            }
        }
    }
}
