import CKernels
import Kernels
import TestSupport
import Testing

struct ResizeKernelTests {
    @Test(arguments: [1, 63, 64, 65, 200, 1027], [1, 2, 9, 257])
    func rowSumsAgree(bytes: Int, rows: Int) {
        var random = SeededGenerator(seed: UInt64(bytes * 300 + rows))
        let stride = bytes + 5
        // The largest sum that sixteen bits hold comes up as well.
        let source = rows == 257 ? [UInt8](repeating: 255, count: rows * stride) : random.bytes(rows * stride)
        let expected = (0..<bytes).map { column in
            UInt16((0..<rows).reduce(0) { $0 + Int(source[$1 * stride + column]) })
        }
        for tier in KernelTier.available {
            var out = [UInt16](repeating: 0xDEAD, count: bytes)
            tier.table.sum_rows(source, stride, Int32(rows), bytes, &out)
            #expect(out == expected, "\(tier.name)")
        }
    }

    @Test(arguments: [1, 3, 4], [1, 2, 7, 256])
    func columnSumsAgree(channels: Int, factor: Int) {
        var random = SeededGenerator(seed: UInt64(channels * 300 + factor))
        let width = 530
        let line = (0..<(width * channels)).map { _ in UInt16.random(in: 0...65_535, using: &random) }
        let cells = (width + factor - 1) / factor
        let expected = (0..<cells).flatMap { cell in
            (0..<4).map { channel -> Float in
                guard channel < channels else { return 0 }
                return Float((cell * factor..<min(width, (cell + 1) * factor)).reduce(0) { $0 + Int(line[$1 * channels + channel]) })
            }
        }
        for tier in KernelTier.available {
            var out = [Float](repeating: .nan, count: cells * 4)
            tier.table.sum_columns(line, Int32(channels), Int32(width), Int32(factor), &out)
            #expect(out == expected, "\(tier.name)")
        }
    }

    @Test func filtersAndSumsAgree() {
        var random = SeededGenerator(seed: 9)
        let cells = random.floats(4 * 90)
        let weights = random.floats(200)
        let spans = (0..<37).map { (index: Int) -> lk_filter_span in lk_filter_span(first: Int32(index * 2), count: Int32(index % 6), offset: Int32(index * 5)) }
        let line = random.floats(101)
        func run(_ tier: KernelTier) -> [Float] {
            var filtered = [Float](repeating: .nan, count: 37 * 4)
            tier.table.filter_columns(cells, spans, weights, 37, &filtered)
            var sums = [Float](repeating: 0.5, count: 101)
            tier.table.accumulate(line, 0.3, 101, &sums)
            return filtered + sums
        }
        let reference = run(KernelTier.available[0])
        for tier in KernelTier.available.dropFirst() {
            #expect(zip(run(tier), reference).allSatisfy { abs($0 - $1) < 1e-5 }, "\(tier.name)")
        }
    }
}
