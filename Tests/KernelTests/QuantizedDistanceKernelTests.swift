import CKernels
import Compute
import TestSupport
import Testing

struct QuantizedDistanceKernelTests {
    @Test(arguments: [1, 3, 64, 65, 127, 128, 200, 256, 512, 577], [0, 1, 15, 16, 17, 40])
    func agreesWithTheSum(dimension: Int, count: Int) {
        var random = SeededGenerator(seed: 37)
        let stride = dimension + 5
        let query = (0..<dimension).map { $0 % 3 == 0 ? -128 : Int8.random(in: -128...127, using: &random) }
        let rows = (0..<(count * stride)).map { $0 % 4 == 0 ? 255 : UInt8.random(in: 0...255, using: &random) }
        let expected = (0..<count).map { row in
            (0..<dimension).reduce(Int32(0)) { $0 + Int32(query[$1]) * Int32(rows[row * stride + $1]) }
        }
        for simd in SIMDTarget.available {
            // One more than asked for, which has to stay.
            var out = [Int32](repeating: 12345, count: count + 1)
            simd.table.quantized_dot_products(query, rows, stride, count, dimension, &out)
            #expect(Array(out.dropLast()) == expected && out.last == 12345, "\(simd.name)")
        }
    }
}
