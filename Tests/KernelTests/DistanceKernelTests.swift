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
        for name in ["squared distances", "dot products"] {
            func run(_ simd: SIMDTarget) -> [Float] {
                var out = [Float](repeating: .nan, count: count)
                storage.withUnsafeBufferPointer { storage in
                    guard let base = storage.baseAddress else { return }
                    let kernel = name == "dot products" ? simd.table.dot_products : simd.table.squared_distances
                    kernel?(query, base + 1, stride, count, dimension, &out)
                }
                return out
            }
            let reference = run(SIMDTarget.available[0])
            for (row, value) in reference.enumerated() {
                let exact = (0..<dimension).reduce(0.0) { sum, j in
                    let (q, x) = (Double(query[j]), Double(storage[1 + row * stride + j]))
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
}
