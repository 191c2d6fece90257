import CKernels
import Compute
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
        for simd in SIMDTarget.available {
            var out = [UInt16](repeating: 0xDEAD, count: bytes)
            simd.table.sum_rows(source, stride, Int32(rows), bytes, &out)
            #expect(out == expected, "\(simd.name)")
        }
    }

    @Test(arguments: [1, 3, 4], [1, 2, 7, 256])
    func columnSumsAgree(channels: Int, factor: Int) {
        var random = SeededGenerator(seed: UInt64(channels * 300 + factor))
        let width = 530
        for fits in [false, true] {
            let line = (0..<(width * channels)).map { _ in
                UInt16.random(in: 0...(fits ? UInt16(65_535 / factor) : 65_535), using: &random)
            }
            let cells = (width + factor - 1) / factor
            let expected = (0..<cells).flatMap { cell in
                (0..<4).map { channel -> Float in
                    guard channel < channels else { return 0 }
                    return Float(
                        (cell * factor..<min(width, (cell + 1) * factor)).reduce(0) {
                            $0 + Int(line[$1 * channels + channel])
                        })
                }
            }
            for simd in SIMDTarget.available {
                var out = [Float](repeating: .nan, count: cells * 4)
                simd.table.sum_columns(line, Int32(channels), Int32(width), Int32(factor), fits, &out)
                #expect(out == expected, "\(simd.name)")
            }
        }
    }

    @Test(arguments: [1, 5, 63, 64, 65, 130, 200, 513], [4, 8, 12, 20, 256])
    func cellSumsAgree(width: Int, factor: Int) {
        var random = SeededGenerator(seed: UInt64(width * 300 + factor))
        let stride = width * 4 + 3
        for rows in [1, 6, 64] {
            let source = rows == 64 ? [UInt8](repeating: 255, count: rows * stride) : random.bytes(rows * stride)
            let expected = (0..<((width + factor - 1) / factor)).flatMap { cell in
                (0..<4).map { channel -> Float in
                    var sum = 0
                    for x in (cell * factor)..<min(width, (cell + 1) * factor) {
                        for y in 0..<rows { sum += Int(source[y * stride + x * 4 + channel]) }
                    }
                    return Float(sum)
                }
            }
            for simd in SIMDTarget.available {
                var out = [Float](repeating: .nan, count: expected.count)
                simd.table.sum_cells(source, stride, Int32(rows), Int32(width), Int32(factor), &out)
                #expect(out == expected, "\(simd.name)")
            }
        }
    }

    @Test(arguments: [1, 3, 4, 5, 6, 7, 40, 129], [3, 4])
    func meansOfSquaresAgree(width: Int, channels: Int) {
        var random = SeededGenerator(seed: UInt64(width * 5 + channels))
        let stride = 2 * width * channels + 3
        // Nothing behind the last pixel is read.
        let source = random.bytes(stride + 2 * width * channels)
        let expected = (0..<width).flatMap { x in
            (0..<4).map { channel -> UInt8 in
                guard channel < channels else { return 0 }
                let sum = [0, channels, stride, stride + channels].reduce(0) {
                    $0 + Int(source[2 * x * channels + channel + $1])
                }
                return UInt8((Double(sum) / 4).rounded(.toNearestOrEven))
            }
        }
        for simd in SIMDTarget.available {
            var out = [UInt8](repeating: 7, count: 4 * width)
            simd.table.halve_rows(source, stride, Int32(channels), Int32(width), &out)
            #expect(out == expected, "\(simd.name)")
        }
    }

    /// A row of pixels in every order, and one sampled along a projection that leaves the image.
    private func writtenAndSampled(_ simd: SIMDTarget) -> [Float] {
        var random = SeededGenerator(seed: 10)
        let pixels = random.floats(4 * 6 * 40, in: 0...255)
        var out = [Float](repeating: 0, count: 40 * 5 * 6)
        for (index, order) in [LK_ORDER_RGB, LK_ORDER_BGR, LK_ORDER_GRAY].enumerated() {
            for premultiplied in [false, true] {
                var layout = lk_pixel_layout(
                    order: order, premultiplied: premultiplied, multiply: (0.01, 0.02, 0.03, 0), add: (1, 2, 3, 0),
                    pixel_stride: 5)
                out.withUnsafeMutableBufferPointer {
                    simd.table.write_pixels(
                        pixels, 40, &layout, $0.baseAddress! + (index * 2 + (premultiplied ? 1 : 0)) * 200)
                }
            }
        }
        var sampled = [Float](repeating: .nan, count: 37 * 4)
        var projection = lk_projection(m: (1.1, 0.2, -3, -0.1, 0.4, 2.5, 0.001, -0.01, 1))
        simd.table.sample(pixels, 40, 6, &projection, 3, 37, &sampled)
        return out + sampled
    }

    @Test func filtersAndSumsAgree() {
        var random = SeededGenerator(seed: 9)
        let cells = random.floats(4 * 90)
        let weights = random.floats(200)
        let spans = (0..<37).map { (index: Int) -> lk_filter_span in
            lk_filter_span(first: Int32(index * 2), count: Int32(index % 6), offset: Int32(index * 5))
        }
        let line = random.floats(101)
        func run(_ simd: SIMDTarget) -> [Float] {
            var filtered = [Float](repeating: .nan, count: 37 * 4)
            simd.table.filter_columns(cells, spans, weights, 37, &filtered)
            var sums = [Float](repeating: 0.5, count: 101)
            simd.table.accumulate(line, 0.3, 101, &sums)
            return filtered + sums + writtenAndSampled(simd)
        }
        let reference = run(SIMDTarget.available[0])
        let others = SIMDTarget.available.dropFirst()
        #expect(!others.isEmpty, "this CPU has no SIMD target to compare with the portable one")
        for simd in others {
            #expect(zip(run(simd), reference).allSatisfy { abs($0 - $1) < 1e-5 + abs($1) * 1e-5 }, "\(simd.name)")
        }
    }
}
