import CKernels
import Compute
import Foundation
import TestSupport
import Testing

/// Histograms of gradients against sums in double precision.
struct KeypointDescriptorKernelTests {
    struct Patch: CustomStringConvertible, Sendable {
        let width, height: Int
        let x, y, spacing, angle: Float
        let seed: UInt64
        var description: String { "\(width)×\(height) at (\(x), \(y)), spacing \(spacing), seed \(seed)" }
    }

    /// Some reach over the edges, where pixels are repeated. The last are upright, as for orientations.
    static let patches: [Patch] = {
        var random = SeededGenerator(seed: 71)
        return (0..<100).map { index in
            let (width, height) = (Int.random(in: 12...90, using: &random), Int.random(in: 12...90, using: &random))
            return Patch(
                width: width, height: height, x: Float.random(in: 5...Float(width - 6), using: &random),
                y: Float.random(in: 5...Float(height - 6), using: &random),
                spacing: Float.random(in: 0.4...4, using: &random),
                angle: index >= 60
                    ? 0
                    : index % 5 == 0
                        ? Float(index / 5 % 4) * .pi / 2 : Float.random(in: 0...(2 * .pi), using: &random),
                seed: UInt64(index))
        }
    }()

    private static let side = Int(LK_PATCH_SIDE)

    private let stride: Int
    private let pixels: [Float]
    private let window: [Float]

    init() {
        var random = SeededGenerator(seed: 5)
        stride = 112
        // Smoothed noise: gradients of all directions and lengths.
        let noise = random.floats(112 * 100, in: 0...1)
        pixels = noise.indices.map { index in
            let next = [0, 1, 112, 113].map { noise[min(index + $0, noise.count - 1)] }
            return next.reduce(0, +) / 4
        }
        window = random.floats(Self.side * Self.side, in: 0...1)
    }

    private func run(
        _ patch: Patch,
        _ kernel: ((UnsafePointer<lk_patch>?, UnsafePointer<Float>?, UnsafeMutablePointer<Float>?) -> Void)?,
        count: Int
    ) -> [Float] {
        var out = [Float](repeating: .nan, count: count + 1)
        pixels.withUnsafeBufferPointer { pixels in
            var raw = lk_patch(
                plane: lk_plane(
                    pixels: pixels.baseAddress, stride: stride, width: Int32(patch.width), height: Int32(patch.height)),
                x: patch.x, y: patch.y, spacing: patch.spacing, cosine: cos(patch.angle), sine: sin(patch.angle))
            kernel?(&raw, window, &out)
        }
        #expect(out[count].isNaN, "wrote behind the last place")
        return Array(out[..<count])
    }

    /// The gradient at a sample of the patch, in the patch's own axes.
    private func gradient(_ patch: Patch, column: Int, row: Int) -> (x: Double, y: Double) {
        let (cosine, sine) = (Double(cos(patch.angle)), Double(sin(patch.angle)))
        func sample(_ u: Double, _ v: Double) -> Double {
            let step = Double(patch.spacing)
            // Samples stop a thousandth of a pixel before the last one.
            let (right, bottom) = (Double(patch.width - 1) - 0.001, Double(patch.height - 1) - 0.001)
            let x = min(max(Double(patch.x) + step * (u * cosine - v * sine), 0), right)
            let y = min(max(Double(patch.y) + step * (u * sine + v * cosine), 0), bottom)
            let (left, top) = (min(Int(x), patch.width - 2), min(Int(y), patch.height - 2))
            func pixel(_ dx: Int, _ dy: Int) -> Double { Double(pixels[(top + dy) * stride + left + dx]) }
            let (fx, fy) = (x - Double(left), y - Double(top))
            return (pixel(0, 0) * (1 - fx) + pixel(1, 0) * fx) * (1 - fy)
                + (pixel(0, 1) * (1 - fx) + pixel(1, 1) * fx) * fy
        }
        let middle = Double(Self.side - 1) / 2
        let (u, v) = (Double(column) - middle, Double(row) - middle)
        return (sample(u + 1, v) - sample(u - 1, v), sample(u, v + 1) - sample(u, v - 1))
    }

    @Test(arguments: patches) func orientationsAgreeWithTheSum(patch: Patch) {
        let bins = Int(LK_ORIENTATION_BINS)
        var exact = [Double](repeating: 0, count: bins)
        for row in 0..<Self.side {
            for column in 0..<Self.side {
                let (x, y) = gradient(patch, column: column, row: row)
                let weight = hypot(x, y) * Double(window[row * Self.side + column])
                let angle = atan2(y, x)
                let place = (angle < 0 ? angle + 2 * .pi : angle) / (2 * .pi) * Double(bins)
                let (bin, share) = (Int(place), place - place.rounded(.down))
                exact[bin % bins] += weight * (1 - share)
                exact[(bin + 1) % bins] += weight * share
            }
        }
        // The vector targets approximate the arc tangent, to a thousandth of a bin.
        let tolerance = 2e-3 * (exact.max() ?? 0) + 1e-4
        for simd in SIMDTarget.available {
            let result = run(patch, simd.table.orientation_histogram, count: bins)
            #expect(zip(result, exact).allSatisfy { abs(Double($0) - $1) < tolerance }, "\(simd.name)")
        }
    }

    @Test(arguments: patches) func descriptorsAgreeWithTheSum(patch: Patch) {
        let count = Int(LK_DESCRIPTOR_LENGTH)
        var exact = [Double](repeating: 0, count: count)
        for row in 0..<Self.side {
            for column in 0..<Self.side {
                let (x, y) = gradient(patch, column: column, row: row)
                let length = hypot(x, y)
                guard length > 1e-5 else { continue }
                for direction in 0..<8 {
                    let turn = Double(direction) * .pi / 4
                    let cosine = max(0, (x * cos(turn) + y * sin(turn)) / length)
                    let value = pow(cosine, 8) * length * Double(window[row * Self.side + column])
                    for cell in 0..<16 {
                        let down = max(0, 1 - abs((Double(row) + 0.5) / 4 - 0.5 - Double(cell / 4)))
                        let across = max(0, 1 - abs((Double(column) + 0.5) / 4 - 0.5 - Double(cell % 4)))
                        exact[cell * 8 + direction] += value * down * across
                    }
                }
            }
        }
        let tolerance = 1e-3 * (exact.max() ?? 0) + 1e-4
        for simd in SIMDTarget.available {
            let result = run(patch, simd.table.gradient_descriptor, count: count)
            #expect(zip(result, exact).allSatisfy { abs(Double($0) - $1) < tolerance }, "\(simd.name)")
        }
    }

    /// A ramp has one direction alone, on the boundary between two bins or in the middle of one.
    @Test(arguments: [0, 5, 10, 90, 135, 180, 270, 355]) func aRampPointsInItsDirection(degrees: Int) {
        let angle = Float(degrees) * .pi / 180
        let ramp = (0..<(64 * 48)).map { cos(angle) * Float($0 % 64) + sin(angle) * Float($0 / 64) }
        let window = [Float](repeating: 1, count: Self.side * Self.side)
        for simd in SIMDTarget.available {
            var histogram = [Float](repeating: .nan, count: Int(LK_ORIENTATION_BINS))
            ramp.withUnsafeBufferPointer { pixels in
                var patch = lk_patch(
                    plane: lk_plane(pixels: pixels.baseAddress, stride: 64, width: 48, height: 47), x: 23, y: 23,
                    spacing: 1, cosine: 1, sine: 0)
                simd.table.orientation_histogram(&patch, window, &histogram)
            }
            let total = histogram.reduce(0, +)
            let (bin, isBetween) = (degrees / 10, degrees % 10 == 5)
            #expect(abs(total - Float(2 * Self.side * Self.side)) < 0.1, "\(simd.name)")
            // Rounding may put a little of the weight into the bin before.
            #expect(abs(histogram[bin] / total - (isBetween ? 0.5 : 1)) < 5e-3, "\(simd.name): \(histogram)")
            #expect(abs(histogram[(bin + 1) % 36] / total - (isBetween ? 0.5 : 0)) < 5e-3, "\(simd.name)")
        }
    }
}
