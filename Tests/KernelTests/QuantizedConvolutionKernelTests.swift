import CKernels
import Compute
import TestSupport
import Testing

/// Every simd, to the bit, against a sum written out here.
struct QuantizedConvolutionKernelTests {
    struct Shape: CustomStringConvertible, Sendable {
        enum Residual: CaseIterable { case none, floats, bytes }
        let inputBlocks, outputBlocks, width, height, kernel, stride: Int
        let residual: Residual
        let relu, givesBytes: Bool
        /// The stride of the columns, where it is not that of the rows.
        var columnStride: Int?
        var rowDilation = 1
        var columnDilation = 1
        /// Whether the last block of inputs has eight channels.
        var lastBlockIsHalf = false

        /// The columns of the input.
        var columns: Int { (width - 1) * (columnStride ?? stride) + (kernel - 1) * columnDilation + 1 }
        var rows: Int { (height - 1) * stride + (kernel - 1) * rowDilation + 1 }

        var description: String {
            "\(inputBlocks)→\(outputBlocks) blocks \(width)×\(height) k\(kernel) s\(stride) \(residual)\(relu ? " relu" : "")\(givesBytes ? " bytes" : "")\(lastBlockIsHalf ? " half" : "")"
        }
    }

    static let shapes: [Shape] = {
        var random = SeededGenerator(seed: 29)
        var shapes = (0..<24).map { index in
            let givesBytes = Bool.random(using: &random)
            return Shape(
                inputBlocks: Int.random(in: 1...3, using: &random), outputBlocks: Int.random(in: 1...3, using: &random),
                width: 1 + index % 17, height: Int.random(in: 1...4, using: &random),
                kernel: [1, 3, 5].randomElement(using: &random) ?? 3, stride: Int.random(in: 1...8, using: &random),
                residual: Shape.Residual.allCases.randomElement(using: &random) ?? .none,
                relu: givesBytes || Bool.random(using: &random),
                givesBytes: givesBytes)
        }
        for index in shapes.indices where index % 3 == 0 { shapes[index].lastBlockIsHalf = true }
        // Tiles of several rows of a narrow map.
        for width in 4...7 {
            for height in 5...8 {
                shapes.append(
                    Shape(
                        inputBlocks: 2, outputBlocks: 2, width: width, height: height, kernel: 1 + height % 2 * 2,
                        stride: 1 + width % 2, residual: .bytes, relu: true, givesBytes: true,
                        lastBlockIsHalf: height == 6))
            }
        }
        for (columnStride, rowDilation, columnDilation) in [(1, 1, 2), (3, 2, 1), (2, 3, 2), (1, 2, 3)] {
            for width in [3, 7, 15] {
                shapes.append(
                    Shape(
                        inputBlocks: 2, outputBlocks: 3, width: width, height: 3, kernel: 3, stride: 2,
                        residual: .floats, relu: false, givesBytes: false, columnStride: columnStride,
                        rowDilation: rowDilation, columnDilation: columnDilation))
            }
        }
        return shapes
    }()

    @Test(arguments: shapes) func agreesWithTheSum(shape: Shape) {
        var random = SeededGenerator(seed: 61)
        let block = Int(LK_CHANNEL_BLOCK)
        let (columns, rows) = (shape.columns, shape.rows)
        let columnStride = shape.columnStride ?? shape.stride
        let taps = shape.kernel * shape.kernel
        // The largest there are among them, so that sums which do not fit 16 bits show. Two neighboring weights of one
        // sign have a sum of at most 128.
        let input = (0..<(shape.inputBlocks * columns * rows * block)).map {
            $0 % 3 == 0 ? 255 : UInt8.random(in: 0...255, using: &random)
        }
        let weights = (0..<(shape.outputBlocks * shape.inputBlocks * taps * block * block)).map { index -> Int8 in
            let (quad, inputBlock) = (index / (4 * block) % 4, index / (block * block * taps) % shape.inputBlocks)
            if shape.lastBlockIsHalf, inputBlock == shape.inputBlocks - 1, quad >= 2 { return 0 }
            switch index / 2 % 5 {
            case 0: return index % 2 == 0 ? 127 : 1
            case 1: return -64
            case 2: return index % 2 == 0 ? -127 : 127
            default: return Int8.random(in: -64...64, using: &random)
            }
        }
        let scales = random.floats(shape.outputBlocks * block).map { $0 * 1e-3 }
        let bias = random.floats(shape.outputBlocks * block).map { $0 * 50 }
        let count = shape.outputBlocks * shape.width * shape.height * block
        let residualBytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        let residual = random.floats(count).map { $0 * 100 }
        let residualScale: Float = 0.37

        var expected = [Float](repeating: 0, count: count)
        for output in 0..<(shape.outputBlocks * block) {
            for y in 0..<shape.height {
                for x in 0..<shape.width {
                    var sum = 0
                    for channel in 0..<(shape.inputBlocks * block) {
                        for tap in 0..<taps {
                            let row = y * shape.stride + tap / shape.kernel * shape.rowDilation
                            let column = x * columnStride + tap % shape.kernel * shape.columnDilation
                            let byte = input[
                                ((channel / block * rows + row) * columns + column) * block + channel % block]
                            let quad =
                                ((output / block * shape.inputBlocks + channel / block) * taps + tap) * 4 + channel
                                % block / 4
                            sum += Int(byte) * Int(weights[(quad * block + output % block) * 4 + channel % 4])
                        }
                    }
                    let at = ((output / block * shape.height + y) * shape.width + x) * block + output % block
                    var value = bias[output].addingProduct(Float(sum), scales[output])
                    switch shape.residual {
                    case .none: break
                    case .floats: value.addProduct(residual[at], residualScale)
                    case .bytes: value.addProduct(Float(residualBytes[at]), residualScale)
                    }
                    if shape.relu { value = max(value, 0) }
                    if shape.givesBytes { value = min(value, 255).rounded(.toNearestOrEven) }
                    expected[at] = value
                }
            }
        }

        for simd in SIMDTarget.available {
            var bytes = [UInt8](repeating: 0xA5, count: count)
            var floats = [Float](repeating: .nan, count: count)
            input.withUnsafeBufferPointer { input in
                weights.withUnsafeBufferPointer { weights in
                    scales.withUnsafeBufferPointer { scales in
                        bias.withUnsafeBufferPointer { bias in
                            residual.withUnsafeBufferPointer { residual in
                                residualBytes.withUnsafeBufferPointer { residualBytes in
                                    bytes.withUnsafeMutableBufferPointer { bytes in
                                        floats.withUnsafeMutableBufferPointer { floats in
                                            var convolution = lk_quantized_convolution()
                                            convolution.input = input.baseAddress
                                            convolution.input_block_stride = columns * rows * block
                                            convolution.tap_row_stride = shape.rowDilation * columns * block
                                            convolution.tap_stride = shape.columnDilation * block
                                            convolution.row_step = shape.stride * columns * block
                                            convolution.pixel_step = columnStride * block
                                            convolution.input_blocks = Int32(shape.inputBlocks)
                                            convolution.last_block_is_half = shape.lastBlockIsHalf
                                            convolution.weights = weights.baseAddress
                                            convolution.scales = scales.baseAddress
                                            convolution.bias = bias.baseAddress
                                            convolution.quantized_residual =
                                                shape.residual == .bytes ? residualBytes.baseAddress : nil
                                            convolution.residual =
                                                shape.residual == .floats ? residual.baseAddress : nil
                                            convolution.residual_scale = residualScale
                                            convolution.quantized_output = shape.givesBytes ? bytes.baseAddress : nil
                                            convolution.output = shape.givesBytes ? nil : floats.baseAddress
                                            convolution.output_block_stride = shape.width * shape.height * block
                                            convolution.output_row_stride = shape.width * block
                                            convolution.output_width = Int32(shape.width)
                                            (convolution.kernel_height, convolution.kernel_width) = (
                                                Int32(shape.kernel), Int32(shape.kernel)
                                            )
                                            convolution.relu = shape.relu
                                            simd.table.convolve_quantized(
                                                &convolution, 0, Int32(shape.outputBlocks), 0, Int32(shape.height))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            let result = shape.givesBytes ? bytes.map { Float($0) } : floats
            #expect(result == expected, "\(simd.name)")
        }
    }
}
