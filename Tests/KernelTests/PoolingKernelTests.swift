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

        private var span: Int { (kernel - 1) * dilation + 1 }
        /// The columns of the result.
        var columns: Int { (width + 2 * padding - span) / stride + 1 }
        var rows: Int { (height + 2 * padding - span) / stride + 1 }

        /// Without input and output.
        var pooling: lk_pooling {
            let block = Int(LK_CHANNEL_BLOCK)
            var pooling = lk_pooling()
            pooling.input_row_stride = width * block
            (pooling.input_width, pooling.input_height) = (Int32(width), Int32(height))
            (pooling.kernel_width, pooling.kernel_height) = (Int32(kernel), Int32(kernel))
            (pooling.stride_x, pooling.stride_y) = (Int32(stride), Int32(stride))
            (pooling.dilation_x, pooling.dilation_y) = (Int32(dilation), Int32(dilation))
            (pooling.padding_left, pooling.padding_top) = (Int32(padding), Int32(padding))
            (pooling.padding_right, pooling.padding_bottom) = (Int32(padding), Int32(padding))
            pooling.padding_counts = padded
            pooling.mean = mean
            pooling.output_row_stride = columns * block
            pooling.output_width = Int32(columns)
            return pooling
        }
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
        let (columns, rows) = (shape.columns, shape.rows)
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
                    var pooling = shape.pooling
                    pooling.input = input.baseAddress
                    pooling.output = output.baseAddress
                    simd.table.pool(&pooling, 0, Int32(rows))
                }
            }
            let worst = zip(output, expected).map { abs($0 - $1) }.max() ?? .infinity
            #expect(worst < 1e-6, "\(simd.name): \(worst) off")
        }
    }

    /// Codes are in the order of the values that they stand for, so the largest of both are the same.
    @Test(arguments: shapes.filter { !$0.mean }) func codesArePooledAsFloats(shape: Shape) {
        var random = SeededGenerator(seed: 13)
        let block = Int(LK_CHANNEL_BLOCK)
        let codes = (0..<(shape.width * shape.height * block)).map { _ in UInt8.random(in: 0...255, using: &random) }
        let (columns, rows) = (shape.columns, shape.rows)
        var expected = [Float](repeating: .nan, count: rows * columns * block)
        var output = [UInt8](repeating: 7, count: expected.count)
        var pooling = shape.pooling
        codes.withUnsafeBufferPointer { codes in
            output.withUnsafeMutableBufferPointer { output in
                pooling.quantized_input = codes.baseAddress
                pooling.quantized_output = output.baseAddress
                lk_pool_quantized(&pooling, 0, Int32(rows))
            }
        }
        codes.map { Float($0) }.withUnsafeBufferPointer { floats in
            expected.withUnsafeMutableBufferPointer { expected in
                pooling.input = floats.baseAddress
                pooling.output = expected.baseAddress
                SIMDTarget.available[0].table.pool(&pooling, 0, Int32(rows))
            }
        }
        #expect(output.map { Float($0) } == expected)
    }

    @Test(arguments: shapes.filter(\.mean)) func theMeanOfCodesIsThatOfTheirValues(shape: Shape) {
        var random = SeededGenerator(seed: 14)
        let block = Int(LK_CHANNEL_BLOCK)
        let codes = (0..<(shape.width * shape.height * block)).map { _ in UInt8.random(in: 0...255, using: &random) }
        let count = shape.rows * shape.columns * block
        var (expected, output) = ([Float](repeating: .nan, count: count), [Float](repeating: .nan, count: count))
        var pooling = shape.pooling
        (pooling.scale, pooling.zero_point) = (0.02, 77)
        codes.withUnsafeBufferPointer { codes in
            output.withUnsafeMutableBufferPointer { output in
                pooling.quantized_input = codes.baseAddress
                pooling.output = output.baseAddress
                lk_pool_quantized(&pooling, 0, Int32(shape.rows))
            }
        }
        codes.map { (Float($0) - 77) * 0.02 }.withUnsafeBufferPointer { floats in
            expected.withUnsafeMutableBufferPointer { expected in
                pooling.input = floats.baseAddress
                pooling.output = expected.baseAddress
                SIMDTarget.available[0].table.pool(&pooling, 0, Int32(shape.rows))
            }
        }
        let worst = zip(output, expected).map { abs($0 - $1) }.max() ?? .infinity
        #expect(worst < 1e-5, "\(worst) off")
    }
}
