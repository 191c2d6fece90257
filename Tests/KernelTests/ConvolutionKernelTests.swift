import CKernels
import Compute
import TestSupport
import Testing

/// Every simd that this CPU has against the portable one.
struct ConvolutionKernelTests {
    struct Shape: CustomStringConvertible, Sendable {
        let channels, outputs, width, height, kernel, stride: Int
        let isImage, hasResidual, relu: Bool
        /// The stride of the columns, where it is not that of the rows.
        var columnStride: Int?
        var rowDilation = 1
        var columnDilation = 1
        /// Pixels from one of the output to the next, beyond one.
        var gap = 0

        var description: String {
            "\(channels)→\(outputs) \(width)×\(height) k\(kernel) s\(stride)\(isImage ? " image" : "")\(hasResidual ? " +" : "")\(relu ? " relu" : "")"
        }
    }

    static let shapes: [Shape] = {
        var random = SeededGenerator(seed: 71)
        var shapes = (0..<40).map { index in
            let isImage = index % 5 == 0
            return Shape(
                channels: isImage ? 3 : Int.random(in: 1...50, using: &random),
                outputs: Int.random(in: 1...70, using: &random),
                width: Int.random(in: 1...45, using: &random), height: Int.random(in: 1...9, using: &random),
                kernel: [1, 3, 5].randomElement(using: &random) ?? 3, stride: Int.random(in: 1...8, using: &random),
                isImage: isImage, hasResidual: Bool.random(using: &random), relu: Bool.random(using: &random))
        }
        // Every stride that a model may have, of an image and of a map.
        shapes += (1...8).flatMap { stride in
            [true, false].map { isImage in
                Shape(
                    channels: isImage ? 3 : 20, outputs: 40, width: 15, height: 2, kernel: 3, stride: stride,
                    isImage: isImage, hasResidual: false, relu: false)
            }
        }
        shapes += [(1, 1, 2), (3, 2, 1), (2, 3, 2), (1, 2, 3)].flatMap { columnStride, rowDilation, columnDilation in
            [5, 14, 17].map { width in
                Shape(
                    channels: 20, outputs: 40, width: width, height: 3, kernel: 3, stride: 2, isImage: false,
                    hasResidual: true, relu: true, columnStride: columnStride, rowDilation: rowDilation,
                    columnDilation: columnDilation, gap: width % 2)
            }
        }
        // Every tile width of every simd.
        shapes += (1...15).map {
            Shape(
                channels: 16, outputs: 32, width: $0, height: 2, kernel: 3, stride: 1, isImage: false,
                hasResidual: false, relu: true)
        }
        return shapes
    }()

    @Test(arguments: shapes) func agreesWithPortable(shape: Shape) {
        var random = SeededGenerator(seed: 5)
        let block = Int(LK_CHANNEL_BLOCK)
        let pixelStride = shape.isImage ? 4 : block
        let columnStride = shape.columnStride ?? shape.stride
        let inputWidth = (shape.width - 1) * columnStride + (shape.kernel - 1) * shape.columnDilation + 1
        let inputHeight = (shape.height - 1) * shape.stride + (shape.kernel - 1) * shape.rowDilation + 1
        let outputStride = (1 + shape.gap) * block
        let inputBlocks = (shape.channels + block - 1) / block
        let outputBlocks = (shape.outputs + block - 1) / block
        let input = random.floats(inputBlocks * inputWidth * inputHeight * pixelStride)
        let weights = random.floats(outputBlocks * block * shape.channels * shape.kernel * shape.kernel)
        let bias = random.floats(outputBlocks * block)
        let count = outputBlocks * shape.width * shape.height * outputStride
        let residual = random.floats(count)

        func run(_ simd: SIMDTarget, quantizedScale: Float? = nil) -> [Float] {
            // Poisoned, so that what is not written shows.
            var output = [Float](repeating: .nan, count: count)
            input.withUnsafeBufferPointer { input in
                weights.withUnsafeBufferPointer { weights in
                    bias.withUnsafeBufferPointer { bias in
                        residual.withUnsafeBufferPointer { residual in
                            output.withUnsafeMutableBufferPointer { output in
                                var convolution = lk_convolution()
                                convolution.input = input.baseAddress
                                convolution.input_block_stride = inputWidth * inputHeight * pixelStride
                                convolution.tap_row_stride = shape.rowDilation * inputWidth * pixelStride
                                convolution.tap_stride = shape.columnDilation * pixelStride
                                convolution.row_step = shape.stride * inputWidth * pixelStride
                                convolution.pixel_step = columnStride * pixelStride
                                convolution.input_channels = Int32(shape.channels)
                                convolution.weights = weights.baseAddress
                                convolution.bias = bias.baseAddress
                                convolution.residual = shape.hasResidual ? residual.baseAddress : nil
                                convolution.output = output.baseAddress
                                convolution.output_block_stride = shape.width * shape.height * outputStride
                                convolution.output_row_stride = shape.width * outputStride
                                convolution.output_pixel_stride = outputStride
                                convolution.output_width = Int32(shape.width)
                                (convolution.kernel_height, convolution.kernel_width) = (
                                    Int32(shape.kernel), Int32(shape.kernel)
                                )
                                convolution.relu = shape.relu
                                if let quantizedScale {
                                    convolution.quantized_scale = quantizedScale
                                    convolution.quantized_output = UnsafeMutableRawPointer(output.baseAddress)?
                                        .assumingMemoryBound(to: UInt8.self)
                                }
                                simd.table.convolve(&convolution, 0, Int32(outputBlocks), 0, Int32(shape.height))
                            }
                        }
                    }
                }
            }
            let values = quantizedScale == nil ? output : output.withUnsafeBytes { $0.prefix(count).map { Float($0) } }
            // Without the gaps between pixels.
            return values.indices.filter { $0 % outputStride < block }.map { values[$0] }
        }

        let reference = run(SIMDTarget.available[0])
        let others = SIMDTarget.available.dropFirst()
        #expect(!others.isEmpty, "this CPU has no SIMD target to compare with the portable one")
        for simd in others {
            let result = run(simd)
            let worst = zip(result, reference).map { abs($0 - $1) }.max() ?? 0
            // Sums of up to 1250 products of numbers below one, in float.
            #expect(worst < 2e-4, "\(simd.name): \(worst) off")
            #expect(result.allSatisfy { $0.isFinite }, "\(simd.name) left something unwritten")
        }
        // As bytes: the floats, rounded; next to a half, either way.
        let scale: Float = 20
        for simd in SIMDTarget.available {
            for (byte, float) in zip(run(simd, quantizedScale: scale), reference) {
                let exact = min(max(float * scale, 0), 255)
                #expect(abs(byte - exact) < 0.5 + 2e-2 && byte == byte.rounded(), "\(simd.name): \(byte) for \(exact)")
            }
        }
    }
}
