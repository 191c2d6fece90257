import CKernels
import Compute
import TestSupport
import Testing

/// Pooling of every SIMD target against a plain loop.
struct PoolingKernelTests {
    struct Shape: Sendable {
        let width, height, kernel, stride, padding: Int
        var dilation = 1
        var mean = false
        var padded = false
    }

    static let shapes = [false, true].flatMap { mean in
        [
            Shape(width: 9, height: 7, kernel: 3, stride: 2, padding: 1, mean: mean),
            Shape(width: 8, height: 8, kernel: 2, stride: 2, padding: 0, mean: mean),
            Shape(width: 5, height: 5, kernel: 5, stride: 1, padding: 2, mean: mean, padded: mean),
            Shape(width: 12, height: 6, kernel: 3, stride: 1, padding: 2, dilation: 2, mean: mean),
        ]
    }

    @Test(arguments: shapes) func agreesWithAPlainLoop(shape: Shape) {
        var random = SeededGenerator(seed: 12)
        let block = Int(LK_CHANNEL_BLOCK)
        let input = random.floats(shape.width * shape.height * block)
        let span = (shape.kernel - 1) * shape.dilation + 1
        let columns = (shape.width + 2 * shape.padding - span) / shape.stride + 1
        let rows = (shape.height + 2 * shape.padding - span) / shape.stride + 1
        var expected: [Float] = []
        for index in 0..<(rows * columns * block) {
            let (lane, column, row) = (index % block, index / block % columns, index / block / columns)
            var values: [Double] = []
            for ky in 0..<shape.kernel {
                for kx in 0..<shape.kernel {
                    let y = row * shape.stride - shape.padding + ky * shape.dilation
                    let x = column * shape.stride - shape.padding + kx * shape.dilation
                    if (0..<shape.height).contains(y), (0..<shape.width).contains(x) {
                        values.append(Double(input[(y * shape.width + x) * block + lane]))
                    } else if shape.padded {
                        values.append(0)
                    }
                }
            }
            expected.append(
                Float(shape.mean ? values.reduce(0, +) / Double(values.count) : values.max() ?? .nan))
        }
        for simd in SIMDTarget.available {
            var output = [Float](repeating: .nan, count: expected.count)
            input.withUnsafeBufferPointer { input in
                output.withUnsafeMutableBufferPointer { output in
                    var pooling = lk_pooling()
                    pooling.input = input.baseAddress
                    pooling.input_row_stride = shape.width * block
                    (pooling.input_width, pooling.input_height) = (Int32(shape.width), Int32(shape.height))
                    (pooling.kernel_width, pooling.kernel_height) = (Int32(shape.kernel), Int32(shape.kernel))
                    (pooling.stride_x, pooling.stride_y) = (Int32(shape.stride), Int32(shape.stride))
                    (pooling.dilation_x, pooling.dilation_y) = (Int32(shape.dilation), Int32(shape.dilation))
                    (pooling.padding_left, pooling.padding_top) = (Int32(shape.padding), Int32(shape.padding))
                    (pooling.padding_right, pooling.padding_bottom) = (Int32(shape.padding), Int32(shape.padding))
                    pooling.padding_counts = shape.padded
                    pooling.mean = shape.mean
                    pooling.output = output.baseAddress
                    pooling.output_row_stride = columns * block
                    pooling.output_width = Int32(columns)
                    simd.table.pool(&pooling, 0, Int32(rows))
                }
            }
            let worst = zip(output, expected).map { abs($0 - $1) }.max() ?? .infinity
            #expect(worst < 1e-6, "\(simd.name): \(worst) off")
        }
    }
}
