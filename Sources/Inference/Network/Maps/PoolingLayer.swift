import CKernels
import Compute

/// The largest value or the mean of every window of a map.
struct PoolingLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let pooling: NetworkGraph.Pooling
    private let mean: Bool

    init(_ pooling: NetworkGraph.Pooling, mean: Bool, _ description: LayerDescription) throws(ModelError.Reason) {
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
        name = description.node.name
        inputs = [description.node.input]
        outputShape = .map(channels: channels, width: window.outputs.width, height: window.outputs.height)
        self.pooling = pooling
        self.mean = mean
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

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let (input, output) = (tensors.input.layout, tensors.output.layout)
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
        for image in 0..<batch {
            for part in parts {
                let (from, to) = (
                    input.origin + part * input.blockStride, output.origin + part * output.blockStride
                )
                if let codes = input.quantization {
                    kernel.quantized_input = UnsafePointer(tensors.input.bytes(image) + from)
                    (kernel.scale, kernel.zero_point) = (codes.scale, codes.zeroPoint)
                    if mean {
                        kernel.output = tensors.output.floats(image) + to
                    } else {
                        kernel.quantized_output = tensors.output.bytes(image) + to
                    }
                    lk_pool_quantized(&kernel, 0, Int32(outputShape.height))
                } else {
                    kernel.input = UnsafePointer(tensors.input.floats(image) + from)
                    kernel.output = tensors.output.floats(image) + to
                    kernels.table.pool(&kernel, 0, Int32(outputShape.height))
                }
            }
        }
    }
}
