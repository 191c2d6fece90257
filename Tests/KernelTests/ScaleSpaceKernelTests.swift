import CKernels
import Compute
import TestSupport
import Testing

/// A grayscale image as the kernels want it: padded rows, and what no pixel is made NaN.
private struct Plane {
    let width: Int
    let height: Int
    let stride: Int
    var floats: [Float]

    init(width: Int, height: Int, pixel: (Int, Int) -> Float) {
        (self.width, self.height) = (width, height)
        stride = (width + 15) / 16 * 16 + 16
        floats = Array(repeating: .nan, count: stride * height + 16)
        for y in 0..<height { for x in 0..<width { floats[y * stride + x] = pixel(x, y) } }
    }

    subscript(x: Int, y: Int) -> Float { floats[y * stride + x] }
}

struct GaussianBlurKernelTests {
    private static let sentinel: Float = 12345

    private static func blur(
        _ plane: Plane, taps: [Float], spacing: Int, with simd: SIMDTarget
    ) -> [Float] {
        var out = [Float](repeating: sentinel, count: plane.floats.count)
        var line = [Float](repeating: .nan, count: plane.stride + 2 * Int(LK_LARGEST_BLUR_RADIUS))
        plane.floats.withUnsafeBufferPointer { pixels in
            var source = lk_plane(
                pixels: pixels.baseAddress, stride: plane.stride, width: Int32(plane.width),
                height: Int32(plane.height))
            // In two bands.
            for rows in [0..<(plane.height / 3), (plane.height / 3)..<plane.height] {
                simd.table.gaussian_blur(
                    &source, taps, Int32(taps.count - 1), Int32(spacing), Int32(rows.lowerBound),
                    Int32(rows.upperBound), &line, &out)
            }
        }
        return out
    }

    /// Both passes in double precision, with repeated edges.
    private static func exact(_ plane: Plane, taps: [Float], spacing: Int) -> [[Double]] {
        let radius = taps.count - 1
        func sum(_ count: Int, _ at: Int, _ value: (Int) -> Double) -> Double {
            (-radius...radius).reduce(0) {
                $0 + Double(taps[abs($1)]) * value(min(max(at + $1 * spacing, 0), count - 1))
            }
        }
        let columns = (0..<plane.height).map { y in
            (0..<plane.width).map { x in sum(plane.height, y) { Double(plane[x, $0]) } }
        }
        return columns.map { row in (0..<plane.width).map { x in sum(plane.width, x) { row[$0] } } }
    }

    @Test(arguments: [1, 2, 15, 16, 17, 63, 65, 130, 213], [0, 1, 2, 3, 4, 5, 6, 8, 13, 21, 32])
    func agreesWithTheSum(width: Int, radius: Int) {
        let spacing = max(1, min(1 + width % 4, Int(LK_LARGEST_BLUR_RADIUS) / max(1, radius)))
        let seed = UInt64(width * 100 + radius)
        var random = SeededGenerator(seed: seed)
        for height in [1, 6, 37] {
            let values = random.floats(width * height, in: 0...1)
            let plane = Plane(width: width, height: height) { values[$1 * width + $0] }
            let weights = random.floats(radius + 1, in: 0.1...1)
            let total = 2 * weights.reduce(0, +) - weights[0]
            let taps = weights.map { $0 / total }
            let exact = Self.exact(plane, taps: taps, spacing: spacing)
            for simd in SIMDTarget.available {
                let out = Self.blur(plane, taps: taps, spacing: spacing, with: simd)
                var worst = 0.0
                for y in 0..<height {
                    for x in 0..<width {
                        // Not max(), which passes over NaN.
                        let error = abs(Double(out[y * plane.stride + x]) - exact[y][x])
                        if !(error <= worst) { worst = error }
                    }
                }
                #expect(worst < 3e-6, "\(simd.name), seed \(seed), \(width)×\(height)")
                #expect(
                    out[(plane.stride * height)...].allSatisfy { $0 == Self.sentinel },
                    "\(simd.name) wrote behind the last row")
            }
        }
    }
}

struct ScaleSpaceExtremaKernelTests {
    private struct Place: Hashable {
        let x: Int
        let y: Int
    }

    /// - Parameter planes: the differences of four planes, fractions whose sums are exact.
    private static func found(
        _ planes: [Plane], border: Int, threshold: Float, capacity: Int, with simd: SIMDTarget
    ) -> [Place] {
        var found = [lk_pixel](repeating: lk_pixel(x: -7, y: -7), count: capacity + 1)
        let (stride, size) = (planes[0].stride, planes[0].floats.count)
        var gaussians = planes[0].floats.map { $0.isNaN ? .nan : Float(1) }
        for plane in planes { gaussians += zip(gaussians.suffix(size), plane.floats).map(+) }
        let count = gaussians.withUnsafeBufferPointer { gaussians in
            simd.table.scale_space_extrema(
                (0..<4).map { gaussians.baseAddress?.advanced(by: $0 * size) }, stride, Int32(planes[0].width),
                Int32(border), Int32(planes[0].height - border), Int32(border), threshold, &found, capacity)
        }
        #expect(count <= capacity && found[capacity].x == -7, "\(simd.name) wrote behind the last place")
        return found[..<min(count, capacity)].map { Place(x: Int($0.x), y: Int($0.y)) }
    }

    /// The rule as the header states it.
    private static func expected(_ planes: [Plane], border: Int, threshold: Float) -> [Place] {
        let (width, height) = (planes[0].width, planes[0].height)
        guard width > 2 * border, height > 2 * border else { return [] }
        return (border..<(height - border)).flatMap { y in
            (border..<(width - border)).compactMap { x -> Place? in
                let value = Double(planes[1][x, y])
                let neighbors = planes.flatMap { plane in
                    (-1...1).flatMap { dy in (-1...1).map { dx in Double(plane[x + dx, y + dy]) } }
                }
                let isHigh = value > Double(threshold) && neighbors.allSatisfy { $0 <= value }
                let isLow = value < -Double(threshold) && neighbors.allSatisfy { $0 >= value }
                return isHigh || isLow ? Place(x: x, y: y) : nil
            }
        }
    }

    /// Few different values make plateaus, which count at each of their pixels.
    @Test(arguments: [3, 11, 16, 17, 21, 33, 50, 131], [1, 2, 5])
    func agreeWithTheRule(width: Int, border: Int) {
        let seed = UInt64(width * 10 + border)
        var random = SeededGenerator(seed: seed)
        var total = 0
        for (height, levels) in [(3, 4), (13, 4), (40, 65_536), (40, 8)] {
            let planes = (0..<3).map { _ in
                Plane(width: width, height: height) { _, _ in
                    Float(Int.random(in: -levels...levels, using: &random)) / Float(levels)
                }
            }
            for threshold: Float in [0, 0.5] {
                let expected = Self.expected(planes, border: border, threshold: threshold)
                total += expected.count
                for simd in SIMDTarget.available {
                    for capacity in Set([0, 1, max(0, expected.count - 1), expected.count, expected.count + 5]) {
                        let found = Self.found(
                            planes, border: border, threshold: threshold, capacity: capacity, with: simd)
                        #expect(
                            found == Array(expected.prefix(capacity)),
                            "\(simd.name), seed \(seed), \(height) rows, \(levels) levels, capacity \(capacity)")
                    }
                }
            }
        }
        #expect(total > 0 || width <= 2 * border, "nothing was there to be found")
    }

    @Test func aFlatPlaneIsOnePlateau() {
        for value: Float in [0.25, -0.25, 0.125] {
            let planes = (0..<3).map { _ in Plane(width: 37, height: 9) { _, _ in value } }
            for simd in SIMDTarget.available {
                let count = Self.found(planes, border: 2, threshold: 0.2, capacity: 400, with: simd).count
                #expect(count == (abs(value) > 0.2 ? 33 * 5 : 0), "\(simd.name), \(value)")
            }
        }
    }

    @Test func aHigherNeighborInAnyOfTheThreePlanesRulesAPixelOut() {
        for neighbor in 0..<27 where neighbor != 13 {
            let planes = (0..<3).map { plane in
                Plane(width: 40, height: 7) { x, y in
                    if plane == 1, x == 20, y == 3 { return 1 }
                    let isNeighbor = (x, y) == (19 + neighbor % 3, 2 + neighbor / 3 % 3) && plane == neighbor / 9
                    return isNeighbor ? 1.5 : 0
                }
            }
            for simd in SIMDTarget.available {
                let found = Self.found(planes, border: 1, threshold: 0.5, capacity: 10, with: simd)
                #expect(!found.contains(Place(x: 20, y: 3)), "\(simd.name), neighbor \(neighbor)")
            }
        }
    }
}
