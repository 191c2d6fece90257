import CKernels
import Compute
import Foundation
import TestSupport
import Testing

struct GeneralizedMeanKernelTests {
    @Test(arguments: [(1, 1), (5, 5), (7, 3)], [Float(1), 2.89, 6])
    func agreesWithDoubles(size: (width: Int, height: Int), power: Float) {
        var random = SeededGenerator(seed: 19)
        let block = Int(LK_CHANNEL_BLOCK)
        let (width, height) = size
        let rowStride = (width + 2) * block
        let epsilon: Float = 1e-6
        // From far below epsilon to large, and below zero.
        let pixels = random.floats(rowStride * height).enumerated().map { index, value in
            index % 7 == 0 ? -value : value * powf(10, Float(index % 5) - 3)
        }
        for simd in SIMDTarget.available {
            var means = [Float](repeating: .nan, count: block)
            simd.table.generalized_mean(pixels, rowStride, Int32(width), Int32(height), power, epsilon, &means)
            for channel in 0..<block {
                var sum = 0.0
                for y in 0..<height {
                    for x in 0..<width {
                        sum += pow(Double(max(pixels[y * rowStride + x * block + channel], epsilon)), Double(power))
                    }
                }
                let expected = pow(sum / Double(width * height), 1 / Double(power))
                #expect(
                    abs(Double(means[channel]) / expected - 1) < 2e-5,
                    "\(simd.name), channel \(channel): \(means[channel]), not \(expected)")
            }
        }
    }

    /// The largest power that a network may have, of the smallest and of the largest values that it is meant for.
    @Test(arguments: [Float(0x1p-15), 8192]) func theLimitsAreNotClamped(value: Float) {
        let block = Int(LK_CHANNEL_BLOCK)
        let pixels = [Float](repeating: value, count: 64 * 64 * block)
        for simd in SIMDTarget.available {
            var means = [Float](repeating: .nan, count: block)
            simd.table.generalized_mean(pixels, 64 * block, 64, 64, 8, 0x1p-15, &means)
            for mean in means { #expect(abs(mean / value - 1) < 2e-5, "\(simd.name): \(mean), not \(value)") }
        }
    }
}
