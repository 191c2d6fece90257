import Compute
import Imaging
import TestSupport
import Testing

/// A filter in double precision, a loop a pixel: nothing in common with the fast path.
private func reference(
    _ image: PixelBuffer, width: Int, height: Int, reach: Double = 1, filter: (Double) -> Double = { 1 - abs($0) }
) -> [Double] {
    func taps(_ source: Int, _ target: Int, _ index: Int) -> [(Int, Double)] {
        let scale = Double(source) / Double(target)
        let support = max(1, scale)
        let center = (Double(index) + 0.5) * scale
        var weights: [(Int, Double)] = []
        for pixel in 0..<source {
            let distance = (Double(pixel) + 0.5 - center) / support
            if abs(distance) < reach { weights.append((pixel, filter(distance))) }
        }
        let sum = weights.reduce(0.0) { $0 + $1.1 }
        return weights.map { ($0.0, $0.1 / sum) }
    }
    func color(_ x: Int, _ y: Int) -> [Double] {
        image.withUnsafeBytes { bytes in
            let at = y * image.bytesPerRow + x * image.format.bytesPerPixel
            let offsets = image.format.redGreenBlueOffsets
            let values = [offsets.red, offsets.green, offsets.blue].map { Double(bytes[at + $0]) }
            guard image.format.hasAlpha else { return values }
            let alpha = Double(bytes[at + 3])
            switch image.alpha {
            case .ignored: return values
            case .premultiplied: return values.map { $0 + 255 - alpha }
            // Rounded, since the pixel over white is a pixel of eight bits.
            case .straight: return values.map { (($0 * alpha + 255 * (255 - alpha)) / 255).rounded() }
            }
        }
    }
    let columns = (0..<width).map { taps(image.width, width, $0) }
    let rows = (0..<height).map { taps(image.height, height, $0) }
    var result: [Double] = []
    for y in 0..<height {
        for x in 0..<width {
            var sums = [0.0, 0, 0]
            for (row, rowWeight) in rows[y] {
                for (column, columnWeight) in columns[x] {
                    for (channel, value) in color(column, row).enumerated() {
                        sums[channel] += value * rowWeight * columnWeight
                    }
                }
            }
            result += sums.map { $0 / 255 }
        }
    }
    return result
}

private func worst(_ fast: [Float], _ exact: [Double]) -> Double {
    zip(fast, exact).map { abs(Double($0) - $1) }.max() ?? .infinity
}

struct ResizerTests {
    struct Case: Sendable, CustomStringConvertible {
        let width, height, target, gap: Int
        let format: PixelFormat
        let alpha: AlphaMode
        var description: String { "\(width)×\(height) \(format) \(alpha) → \(target), gap \(gap)" }
    }

    static let cases: [Case] = {
        let sizes = [
            (1, 1, 5), (7, 5, 16), (16, 16, 16), (33, 47, 10), (61, 40, 13), (101, 75, 9), (2, 90, 12), (90, 2, 12),
        ]
        var cases: [Case] = []
        for (index, size) in sizes.enumerated() {
            for format in PixelFormat.allCases {
                for alpha in format.hasAlpha ? AlphaMode.allCases : [.ignored] {
                    cases.append(
                        Case(
                            width: size.0, height: size.1, target: size.2, gap: index * 3 % 7, format: format,
                            alpha: alpha))
                }
            }
        }
        return cases
    }()

    private static func image(_ test: Case, seed: UInt64) throws -> PixelBuffer {
        var random = SeededGenerator(seed: seed)
        let stride = test.width * test.format.bytesPerPixel + test.gap
        var bytes = random.bytes(stride * test.height)
        if test.format.hasAlpha, test.alpha == .premultiplied {
            for y in 0..<test.height {
                for x in 0..<test.width {
                    let at = y * stride + x * 4
                    for channel in 0..<3 { bytes[at + channel] = min(bytes[at + channel], bytes[at + 3]) }
                }
            }
        }
        return try PixelBuffer(
            bytes, width: test.width, height: test.height, bytesPerRow: stride, format: test.format, alpha: test.alpha)
    }

    @Test(arguments: cases) func matchesTheDoublePrecisionReference(test: Case) throws {
        let image = try Self.image(test, seed: 17)
        let exact = reference(image, width: test.target, height: test.target + 2)
        for simd in SIMDTarget.available {
            let fast = Resizer(width: test.target, height: test.target + 2, reduction: .never, simd: simd).resize(image)
            #expect(worst(fast, exact) <= 1 / 255 / 8, "\(simd.name), seed 17")
        }
    }

    /// Keys' cubic with a = −½, as he writes it.
    private static func cubic(_ distance: Double) -> Double {
        let (a, s) = (-0.5, abs(distance))
        if s <= 1 { return (a + 2) * s * s * s - (a + 3) * s * s + 1 }
        return a * (s * s * s - 5 * s * s + 8 * s - 4)
    }

    /// The whole image is resized, and its center cut out.
    @Test(arguments: [(61, 40), (33, 47), (101, 75), (20, 90), (7, 5), (400, 300), (64, 64)], [true, false])
    func centersMatchTheReference(size: (Int, Int), isCubic: Bool) throws {
        let (width, height, shortest) = (9, 10, 12)
        let test = Case(width: size.0, height: size.1, target: width, gap: 3, format: .rgb8, alpha: .ignored)
        let image = try Self.image(test, seed: 31)
        let long = Int(Double(shortest) * Double(max(size.0, size.1)) / Double(min(size.0, size.1)))
        let whole = size.0 < size.1 ? (width: shortest, height: long) : (width: long, height: shortest)
        let resized =
            isCubic
            ? reference(image, width: whole.width, height: whole.height, reach: 2, filter: Self.cubic)
            : reference(image, width: whole.width, height: whole.height)
        var exact: [Double] = []
        for y in 0..<height {
            let first = ((y + (whole.height - height) / 2) * whole.width + (whole.width - width) / 2) * 3
            exact += resized[first..<(first + 3 * width)].map { min(max($0, 0), 1) }
        }
        for simd in SIMDTarget.available {
            for (reduction, limit) in [(BoxReduction.never, 0.125), (.automatic, isCubic ? 7 : 5)] {
                let fast = Resizer(
                    width: width, height: height, reduction: reduction, fit: .center(shortestSide: shortest),
                    filter: isCubic ? .bicubic : .bilinear, simd: simd
                ).resize(image)
                #expect(worst(fast, exact) <= limit / 255, "\(simd.name), seed 31: \(worst(fast, exact) * 255)")
            }
        }
    }

    /// Hard edges are the worst that can come, noise averages out. Measured over these sizes: at most
    /// 5.9 / 255 on edges and 3.7 / 255 on noise.
    @Test(arguments: [(200, 150, 20), (640, 480, 32), (333, 777, 40), (1000, 90, 20)])
    func boxReductionStaysClose(width: Int, height: Int, target: Int) throws {
        let test = Case(width: width, height: height, target: target, gap: 2, format: .rgb8, alpha: .ignored)
        let noise = try Self.image(test, seed: 23)
        let edges = SampleImage.blocks(seed: 4, width: width, height: height)
        for (image, limit) in [(noise, 4.5 / 255), (edges, 7.0 / 255)] {
            let deviation = worst(
                Resizer(width: target, height: target).resize(image), reference(image, width: target, height: target))
            #expect(deviation <= limit, "\(deviation * 255)/255 off")
        }
    }

    @Test func averagesStayExactWithBoxReduction() throws {
        let flat = try PixelBuffer(
            [UInt8](repeating: 200, count: 4001 * 37 * 3), width: 4001, height: 37, format: .rgb8)
        for value in Resizer(width: 8, height: 8).resize(flat) { #expect(abs(value - 200 / 255) < 1e-5) }
    }

    @Test func writesTheLayoutItIsTold() throws {
        let image = SampleImage.blocks(seed: 2)
        let plain = Resizer(width: 6, height: 5).resize(image)
        let layout = FloatImageLayout(offset: 9, rowStride: 40, pixelStride: 4, multiply: (2, 3, 4), add: (-1, 0, 1))
        var out = [Float](repeating: -7, count: 9 + 40 * 5)
        out.withUnsafeMutableBufferPointer { Resizer(width: 6, height: 5).resize(image, into: $0, layout: layout) }
        for y in 0..<5 {
            for x in 0..<6 {
                let (from, to) = ((y * 6 + x) * 3, 9 + y * 40 + x * 4)
                #expect(abs(out[to] - (plain[from] * 2 - 1)) < 1e-5)
                #expect(abs(out[to + 1] - plain[from + 1] * 3) < 1e-5)
                #expect(abs(out[to + 2] - (plain[from + 2] * 4 + 1)) < 1e-5)
                #expect(out[to + 3] == -7, "a gap was written")
            }
        }
    }
}
