import CKernels
import Compute
import TestSupport
import Testing

struct ComponentQuantizationKernelTests {
    @Test(arguments: [16, 32, 64, 128]) func agreesWithRounding(count: Int) {
        for seed in 0..<50 {
            var random = SeededGenerator(seed: UInt64(seed * 1000 + count))
            let values = random.floats(count).map { ($0 - 0.5) * (seed % 2 == 0 ? 1 : 1e-6) }
            let unit = (values.map(abs).max() ?? 0) / 127
            let expected = values.map { Int8(($0 / unit).rounded(.toNearestOrEven)) }
            for simd in SIMDTarget.available {
                var codes = [Int8](repeating: 99, count: count + 1)
                let found = simd.table.quantize_components(values, count, &codes)
                #expect(Array(codes.dropLast()) == expected && codes[count] == 99, "\(simd.name), seed \(seed)")
                #expect(found.unit == unit && Int(found.sum) == expected.reduce(0) { $0 + Int($1) }, "\(simd.name)")
                #expect(codes.contains(127) || codes.contains(-127))
            }
        }
    }

    @Test func zerosAreZero() {
        for simd in SIMDTarget.available {
            var codes = [Int8](repeating: 99, count: 16)
            let found = simd.table.quantize_components([Float](repeating: 0, count: 16), 16, &codes)
            #expect(codes.allSatisfy { $0 == 0 } && found.sum == 0 && found.unit > 0, "\(simd.name)")
        }
    }
}
