import CKernels
import Compute
import TestSupport
import Testing

struct LumaKernelTests {
    @Test(arguments: [1, 3, 4], [1, 15, 16, 17, 22, 37, 64, 200])
    func rowsAgreeWithTheSum(channels: Int, width: Int) {
        let seed = UInt64(channels * 1000 + width)
        var random = SeededGenerator(seed: seed)
        let source = random.bytes(width * channels)
        let weights: [Float] = [0.3, 0.6, 0.1, -0.5]
        let exact = (0..<width).map { x in
            (0..<channels).reduce(0.0) { $0 + Double(weights[$1]) * Double(source[x * channels + $1]) }
        }
        for simd in SIMDTarget.available {
            var out = [Float](repeating: .nan, count: width + 1)
            // An exact copy, so that a read behind the last pixel is behind the allocation.
            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: source.count)
            defer { copy.deallocate() }
            copy.initialize(from: source, count: source.count)
            simd.table.luma_row(copy, Int32(channels), weights, Int32(width), &out)
            #expect(
                zip(out, exact).allSatisfy { abs(Double($0) - $1) < 1e-4 } && out[width].isNaN,
                "\(simd.name), seed \(seed)")
        }
    }

    @Test(arguments: [1, 2, 7, 90]) func filtersAgreeWithTheSum(width: Int) {
        let seed = UInt64(width)
        var random = SeededGenerator(seed: seed)
        let (cells, weights) = (random.floats(2 * width + 8), random.floats(5 * width + 8))
        let spans = (0..<width).map { (index: Int) -> lk_filter_span in
            lk_filter_span(first: Int32(index * 2), count: Int32(index % 9), offset: Int32(index * 5))
        }
        let exact = spans.map { (span: lk_filter_span) -> Double in
            let (first, offset) = (Int(span.first), Int(span.offset))
            return (0..<Int(span.count)).reduce(0.0) { (sum: Double, tap: Int) -> Double in
                let product = Double(cells[first + tap]) * Double(weights[offset + tap])
                return sum + product
            }
        }
        for simd in SIMDTarget.available {
            var out = [Float](repeating: .nan, count: width)
            simd.table.filter_row(cells, spans, weights, Int32(width), &out)
            #expect(zip(out, exact).allSatisfy { abs(Double($0) - $1) < 1e-5 }, "\(simd.name), seed \(seed)")
        }
    }
}
