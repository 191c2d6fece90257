import CKernels
import Compute
import Testing

/// The trial in which an int8 convolution has to prove itself before it is used.
struct QuantizedConvolutionTrialTests {
    @Test func everyTargetGivesTheSameCodes() throws {
        let portable = try #require(lk_kernels_at(0))
        for target in SIMDTarget.available {
            var table = target.table
            var relativeTime = 0.0
            #expect(lk_try_quantized_convolution(&table, portable, &relativeTime), "\(target.name)")
            #expect(relativeTime > 0)
        }
    }

    @Test func aConvolutionWithOneWrongCodeIsRefused() throws {
        let portable = try #require(lk_kernels_at(0))
        var table = portable.pointee
        table.convolve_quantized = { convolution, blockBegin, blockEnd, rowBegin, rowEnd in
            guard let convolution, let portable = lk_kernels_at(0) else { return }
            portable.pointee.convolve_quantized(convolution, blockBegin, blockEnd, rowBegin, rowEnd)
            // The last pixel of the last block, in a narrow map with many channels.
            let layer = convolution.pointee
            guard layer.output_width == 7 else { return }
            layer.quantized_output[Int(blockEnd) * layer.output_block_stride - 1] ^= 1
        }
        var relativeTime = 0.0
        #expect(!lk_try_quantized_convolution(&table, portable, &relativeTime))
    }
}
