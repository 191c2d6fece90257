import CKernels
import Compute
import TestSupport
import Testing

struct DistanceKernelTests {
    @Test(arguments: [1, 3, 15, 16, 17, 100, 256, 513], [0, 1, 7, 8, 9, 33])
    func targetsAgreeToTheBit(dimension: Int, count: Int) {
        var random = SeededGenerator(seed: UInt64(dimension * 1000 + count))
        let gap = 3
        let stride = dimension + gap
        let query = random.floats(dimension)
        // One float in, so that rows are not aligned.
        let storage = random.floats(1 + count * stride)
        var halves = [UInt16](repeating: 0, count: storage.count)
        lk_narrow(storage, storage.count, &halves)
        for name in ["squared distances", "squared distances of halves", "dot products"] {
            func run(_ simd: SIMDTarget) -> [Float] {
                var out = [Float](repeating: .nan, count: count)
                storage.withUnsafeBufferPointer { storage in
                    guard let base = storage.baseAddress else { return }
                    switch name {
                    case "dot products":
                        simd.table.dot_products(query, base + 1, stride, count, dimension, &out)
                    case "squared distances":
                        simd.table.squared_distances(query, base + 1, stride, count, dimension, &out)
                    default:
                        halves.withUnsafeBufferPointer { halves in
                            guard let rows = halves.baseAddress else { return }
                            simd.table.squared_distances_of_halves(query, rows + 1, stride, count, dimension, &out)
                        }
                    }
                }
                return out
            }
            let reference = run(SIMDTarget.available[0])
            for (row, value) in reference.enumerated() {
                let exact = (0..<dimension).reduce(0.0) { sum, j in
                    let place = 1 + row * stride + j
                    let stored = name.hasSuffix("halves") ? StoredFormat.value(ofHalf: halves[place]) : storage[place]
                    let (q, x) = (Double(query[j]), Double(stored))
                    return sum + (name == "dot products" ? q * x : (q - x) * (q - x))
                }
                #expect(abs(Double(value) - exact) < 1e-4, "\(name) of row \(row)")
            }
            let others = SIMDTarget.available.dropFirst()
            #expect(!others.isEmpty, "this CPU has no SIMD target to compare with the portable one")
            for simd in others {
                #expect(run(simd).map(\.bitPattern) == reference.map(\.bitPattern), "\(name), \(simd.name)")
            }
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 300]) func halvesAreWidenedExactly(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        let halves = (0..<count).map { _ in UInt16.random(in: 0..<0x7C00, using: &random) }
        for simd in SIMDTarget.available {
            var floats = [Float](repeating: 7, count: count + 1)
            simd.table.widen_halves(halves, count, &floats)
            #expect(Array(floats.dropLast()) == halves.map { StoredFormat.value(ofHalf: $0) }, "\(simd.name)")
            #expect(floats[count] == 7)
        }
    }
}
