import CKernels
import Compute
import TestSupport
import Testing

struct BestTwoKernelTests {
    /// Exact: a product of a small integer and a float has one rounding.
    private static func expected(_ dots: [Int32], offset: Int32, scales: [Float]) -> (Float, Float, Int32) {
        let values = zip(dots, scales).map { Float(Double($0 - offset) * Double($1)) }
        let order = values.indices.sorted { (values[$1], $0) < (values[$0], $1) }
        return (values[order[0]], values[order[1]], Int32(order[0]))
    }

    private static func found(
        _ dots: [Int32], offset: Int32, scales: [Float], with simd: SIMDTarget
    ) -> (Float, Float, Int32) {
        var two = lk_best_two()
        simd.table.best_two(dots, offset, scales, dots.count, &two)
        return (two.best, two.second, two.row)
    }

    @Test(arguments: [16, 32, 48, 64, 208, 1008]) func agreesWithSorting(count: Int) {
        for seed in 0..<60 {
            var random = SeededGenerator(seed: UInt64(seed * 2000 + count))
            // Few values make ties; scales of zero are the padding behind the last row.
            let largest: Int32 = seed % 3 == 0 ? 2 : 100_000
            let dots = (0..<count).map { _ in Int32.random(in: -largest...largest, using: &random) }
            let isEven = seed % 2 == 0
            let padding = Int.random(in: 0..<16, using: &random)
            let scales = (0..<count).map { index in
                index >= count - padding ? 0 : isEven ? 0.5 : Float.random(in: 0.1...1, using: &random)
            }
            let offset = Int32.random(in: -largest...largest, using: &random)
            let expected = Self.expected(dots, offset: offset, scales: scales)
            for simd in SIMDTarget.available {
                let found = Self.found(dots, offset: offset, scales: scales, with: simd)
                #expect(found == expected, "\(simd.name), seed \(seed)")
            }
        }
    }

    /// The two largest in every pair of places, in equal lanes and in different ones.
    @Test func ofEqualValuesTheFirstRowWins() {
        for first in 0..<48 {
            for second in (first + 1)..<48 {
                var dots = [Int32](repeating: -3, count: 48)
                (dots[first], dots[second]) = (9, 9)
                for simd in SIMDTarget.available {
                    let found = Self.found(dots, offset: 1, scales: Array(repeating: 2, count: 48), with: simd)
                    #expect(found == (16, 16, Int32(first)), "\(simd.name), rows \(first) and \(second)")
                }
            }
        }
    }

    @Test func negativeValuesAreComparedToo() {
        let dots = (0..<16).map { Int32(-100 - $0 * 3 % 16) }
        for simd in SIMDTarget.available {
            let found = Self.found(dots, offset: 0, scales: Array(repeating: 1, count: 16), with: simd)
            #expect(found == Self.expected(dots, offset: 0, scales: Array(repeating: 1, count: 16)), "\(simd.name)")
            #expect(found == (-100, -101, 0), "\(simd.name)")
        }
    }
}

struct HammingKernelTests {
    private struct Hit: Hashable {
        let index: Int
        let distance: Int
    }

    @Test(arguments: [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 250], [0, 1, 11, 16, 31, 32])
    func findsWhatCountingFinds(count: Int, limit: Int) {
        let seed = UInt64(count * 100 + limit)
        var random = SeededGenerator(seed: seed)
        let signature = UInt32(truncatingIfNeeded: random.next())
        // Signatures at all distances, equal and opposite ones among them.
        let signatures = (0..<count).map { index -> UInt32 in
            if index % 11 == 3 { return signature }
            if index % 11 == 7 { return ~signature }
            return (0..<Int.random(in: 0...20, using: &random)).reduce(signature) { bits, _ in
                bits ^ (1 << UInt32.random(in: 0..<32, using: &random))
            }
        }
        let expected = signatures.indices.compactMap { index -> Hit? in
            let distance = (0..<32).count { (signature ^ signatures[index]) >> UInt32($0) & 1 == 1 }
            return distance <= limit ? Hit(index: index, distance: distance) : nil
        }
        for simd in SIMDTarget.available {
            var found = [lk_hamming](repeating: lk_hamming(index: 77, distance: 77), count: count + 1)
            let kept = simd.table.hamming_within(signature, signatures, count, UInt32(limit), &found)
            #expect(
                found[..<min(kept, count)].map { Hit(index: Int($0.index), distance: Int($0.distance)) } == expected,
                "\(simd.name), seed \(seed)")
            #expect(found[count].index == 77, "\(simd.name) wrote behind the last place")
        }
    }
}

struct SignatureKernelTests {
    @Test func everyTargetComparesWithEachCenter() {
        let seed: UInt64 = 141
        var random = SeededGenerator(seed: seed)
        // Small numbers, so that some are equal.
        let limits = (0..<64).map { _ in UInt8.random(in: 0...9, using: &random) }
        let centers = (0..<(20 * 64)).map { _ in UInt8.random(in: 0...9, using: &random) }
        let words = (0..<7).map { _ in UInt16.random(in: 0..<20, using: &random) }
        let expected = words.map { word in
            (0..<64).reduce(UInt64(0)) { $0 | (limits[$1] > centers[Int(word) * 64 + $1] ? 1 << UInt64($1) : 0) }
        }
        for simd in SIMDTarget.available {
            var signatures = [UInt64](repeating: 5, count: words.count + 1)
            simd.table.signatures(limits, centers, words, words.count, &signatures)
            #expect(signatures == expected + [5], "\(simd.name), seed \(seed)")
        }
    }
}

struct DescriptorRestorationKernelTests {
    @Test(arguments: [0, 128, 255]) func everyTargetAddsTheOffsets(zero: UInt8) {
        let seed = UInt64(zero) + 300
        var random = SeededGenerator(seed: seed)
        let bytes = { random.bytes(64) }
        for _ in 0..<50 {
            let (center, near, far) = (bytes(), bytes(), bytes())
            let (above, isFar) = (
                UInt64.random(in: 0...(.max), using: &random), UInt64.random(in: 0...(.max), using: &random)
            )
            let expected = (0..<64).map { index in
                let offset = Int(isFar >> UInt64(index) & 1 == 1 ? far[index] : near[index])
                return UInt8(clamping: Int(center[index]) + (above >> UInt64(index) & 1 == 1 ? offset : -offset))
            }
            let squares = expected.reduce(0) { $0 + (Int($1) - Int(zero)) * (Int($1) - Int(zero)) }
            for simd in SIMDTarget.available {
                var row = [UInt8](repeating: 7, count: 65)
                let found = simd.table.restore_descriptor(center, above, isFar, near, far, zero, &row)
                #expect(row == expected + [7] && Int(found) == squares, "\(simd.name), seed \(seed)")
            }
        }
    }
}
