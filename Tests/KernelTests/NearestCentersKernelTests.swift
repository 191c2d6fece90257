import CKernels
import Compute
import TestSupport
import Testing

struct NearestCentersKernelTests {
    private static func indices(of nearest: lk_nearest_centers) -> [Int32] {
        withUnsafeBytes(of: nearest.indices) {
            Array($0.assumingMemoryBound(to: Int32.self).prefix(Int(nearest.count)))
        }
    }

    /// Offers come in two parts, so that the second meets scores that are there already.
    @Test(arguments: [1, 3, 5, 8], [16, 64, 256]) func agreesWithSorting(capacity: Int, count: Int) {
        for seed in 0..<40 {
            var random = SeededGenerator(seed: UInt64(seed * 10_000 + capacity * 1000 + count))
            // Few values make ties.
            let largest: Int32 = seed % 3 == 0 ? 3 : 100_000
            let dots = (0..<2 * count).map { _ in Int32.random(in: -largest...largest, using: &random) }
            let halves = (0..<2 * count).map { _ in seed % 3 == 0 ? 0.5 : Float.random(in: 0...2, using: &random) }
            let (offset, scale) = (Int32.random(in: -50...50, using: &random), Float(0.0003))
            let scores = zip(dots, halves).map { dot, half in
                let product = Float(dot - offset) * scale
                return product - half
            }
            let expected = scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }.prefix(capacity).map(
                Int32.init)
            for simd in SIMDTarget.available {
                var nearest = lk_nearest_centers()
                nearest.capacity = Int32(capacity)
                for part in 0..<2 {
                    simd.table.offer_centers(
                        Array(dots[(part * count)..<((part + 1) * count)]), offset, scale,
                        Array(halves[(part * count)..<((part + 1) * count)]), count, Int32(part * count), &nearest)
                }
                #expect(Self.indices(of: nearest) == expected, "\(simd.name), seed \(seed)")
            }
        }
    }
}
