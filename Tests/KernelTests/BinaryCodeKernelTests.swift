import CKernels
import Compute
import TestSupport
import Testing

struct BinaryCodeKernelTests {
    private struct Hit: Equatable {
        let index: UInt32
        let lowerBound: Float
    }

    /// Codes one by one, in double precision: the patterns of their columns looked up and added.
    @Test(arguments: [(1, 4), (31, 8), (32, 64), (33, 64), (200, 64), (256, 12), (97, 256)])
    func agreesWithSumsOfTableEntries(count: Int, columns: Int) {
        let seed = UInt64(count * 1000 + columns)
        var random = SeededGenerator(seed: seed)
        // The largest entries that fit: sums up to 65,535.
        let largest = UInt8(min(255, 65_535 / columns))
        let tables = (0..<(columns * 16)).map { _ in
            Bool.random(using: &random) ? largest : UInt8.random(in: 0...largest, using: &random)
        }
        let (lanes, blockCount) = (Int(LK_BINARY_BLOCK), (count + Int(LK_BINARY_BLOCK) - 1) / Int(LK_BINARY_BLOCK))
        let floatsPerBlock = columns * 4 + Int(LK_BINARY_FACTOR_BYTES) / 4
        var blocks = [Float](repeating: 0, count: blockCount * floatsPerBlock)
        let patterns = (0..<count).map { _ in
            (0..<columns).map { _ in Int.random(in: 0..<16, using: &random) }
        }
        let factors = (0..<count).map { _ in random.floats(3, in: 0...1) }
        blocks.withUnsafeMutableBytes { bytes in
            for code in 0..<count {
                let start = code / lanes * floatsPerBlock * 4
                for column in 0..<columns {
                    bytes[start + column * 16 + code % 16] |= UInt8(
                        patterns[code][column] << (code % lanes < 16 ? 0 : 4))
                }
                for factor in 0..<3 {
                    bytes.storeBytes(
                        of: factors[code][factor],
                        toByteOffset: start + columns * 16 + (factor * lanes + code % lanes) * 4,
                        as: Float.self)
                }
            }
        }
        let bounds = (0..<count).map { code -> Double in
            let sum = (0..<columns).reduce(0) { $0 + Int(tables[$1 * 16 + patterns[code][$1]]) }
            let values = factors[code].map { Double($0) }
            return 0.25 + values[0] + values[1] * (Double(sum) * 0x1p-15 - 0.5) - 0.75 * values[2]
        }
        let limit = Float(bounds.sorted()[count / 2] + 1e-5)
        let expected = bounds.indices.filter { bounds[$0] <= Double(limit) }
        tables.withUnsafeBufferPointer { tables in
            var query = lk_binary_query(
                tables: tables.baseAddress, columns: columns, step: 0x1p-15, offset: -0.5, base: 0.25,
                error_weight: 0.75)
            var first: [Hit]?
            for simd in SIMDTarget.available {
                var found = [UInt32](repeating: 99_999, count: count + 1)
                var lower = [Float](repeating: .nan, count: count + 1)
                let within = blocks.withUnsafeBytes { bytes in
                    simd.table.select_binary_codes(
                        &query, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), count, limit, &found, &lower)
                }
                #expect(found[..<min(within, count)].map { Int($0) } == expected, "\(simd.name), seed \(seed)")
                for index in 0..<min(within, count) {
                    #expect(abs(Double(lower[index]) - bounds[Int(found[index])]) < 1e-5, "\(simd.name), seed \(seed)")
                }
                #expect(found[count] == 99_999, "\(simd.name) wrote behind the last place")
                let hits = (0..<min(within, count)).map { Hit(index: found[$0], lowerBound: lower[$0]) }
                #expect(hits == first ?? hits, "\(simd.name) differs in the last bits, seed \(seed)")
                first = hits
            }
        }
    }
}
