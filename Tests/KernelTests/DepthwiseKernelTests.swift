import CKernels
import Compute
import TestSupport
import Testing

/// Depthwise convolutions of every SIMD target against the portable one, and that against a plain loop.
struct DepthwiseKernelTests {
    struct Shape: Sendable {
        let blocks, width, height, kernelWidth, kernelHeight, stride, dilation: Int
        var relu = false
    }

    static let shapes =
        [3, 5, 7].flatMap { kernel in
            [1, 2].flatMap { stride in
                [1, 3, 7, 14, 29].map {
                    Shape(
                        blocks: 2, width: $0, height: 3, kernelWidth: kernel, kernelHeight: kernel, stride: stride,
                        dilation: 1, relu: $0 == 7)
                }
            }
        } + [
            Shape(blocks: 1, width: 9, height: 2, kernelWidth: 3, kernelHeight: 3, stride: 1, dilation: 2),
            Shape(blocks: 3, width: 11, height: 2, kernelWidth: 5, kernelHeight: 1, stride: 3, dilation: 1),
            Shape(blocks: 1, width: 4, height: 2, kernelWidth: 1, kernelHeight: 1, stride: 1, dilation: 1),
        ]

    @Test(arguments: shapes) func agreesWithAPlainLoop(shape: Shape) {
        var random = SeededGenerator(seed: 31)
        let block = Int(LK_CHANNEL_BLOCK)
        let columns = (shape.width - 1) * shape.stride + (shape.kernelWidth - 1) * shape.dilation + 1
        let rows = (shape.height - 1) * shape.stride + (shape.kernelHeight - 1) * shape.dilation + 1
        let taps = shape.kernelWidth * shape.kernelHeight
        let input = random.floats(shape.blocks * rows * columns * block)
        let weights = random.floats(shape.blocks * taps * block)
        let bias = random.floats(shape.blocks * block)
        let count = shape.blocks * shape.height * shape.width * block

        var expected = [Double](repeating: 0, count: count)
        for index in 0..<count {
            let lane = index % block
            let x = index / block % shape.width
            let y = index / block / shape.width % shape.height
            let b = index / block / shape.width / shape.height
            var sum = Double(bias[b * block + lane])
            for ky in 0..<shape.kernelHeight {
                for kx in 0..<shape.kernelWidth {
                    let (row, column) = (y * shape.stride + ky * shape.dilation, x * shape.stride + kx * shape.dilation)
                    sum +=
                        Double(weights[(b * taps + ky * shape.kernelWidth + kx) * block + lane])
                        * Double(input[((b * rows + row) * columns + column) * block + lane])
                }
            }
            expected[index] = shape.relu ? max(sum, 0) : sum
        }
        for simd in SIMDTarget.available {
            var output = [Float](repeating: .nan, count: count)
            input.withUnsafeBufferPointer { input in
                weights.withUnsafeBufferPointer { weights in
                    bias.withUnsafeBufferPointer { bias in
                        output.withUnsafeMutableBufferPointer { output in
                            var convolution = lk_depthwise_convolution()
                            convolution.input = input.baseAddress
                            convolution.input_block_stride = rows * columns * block
                            convolution.row_step = shape.stride * columns * block
                            convolution.pixel_step = shape.stride * block
                            convolution.tap_row_stride = shape.dilation * columns * block
                            convolution.tap_stride = shape.dilation * block
                            convolution.weights = weights.baseAddress
                            convolution.bias = bias.baseAddress
                            convolution.output = output.baseAddress
                            convolution.output_block_stride = shape.height * shape.width * block
                            convolution.output_row_stride = shape.width * block
                            convolution.output_width = Int32(shape.width)
                            convolution.kernel_height = Int32(shape.kernelHeight)
                            convolution.kernel_width = Int32(shape.kernelWidth)
                            convolution.relu = shape.relu
                            simd.table.convolve_depthwise(
                                &convolution, 0, Int32(shape.blocks), 0, Int32(shape.height))
                        }
                    }
                }
            }
            let worst = zip(output, expected).map { abs(Double($0) - $1) }.max() ?? .infinity
            #expect(worst < 1e-5, "\(simd.name): \(worst) off")
        }
    }
}
