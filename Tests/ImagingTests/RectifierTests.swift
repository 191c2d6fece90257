import Foundation
import Imaging
import TestSupport
import Testing

/// The map from the unit square to four points by solving its eight linear equations with Gaussian
/// elimination: nothing in common with the closed form.
private struct SolvedHomography {
    private let h: [Double]

    init(_ q: Quadrilateral) {
        var rows: [[Double]] = []
        for ((u, v), p) in zip([(0.0, 0.0), (1, 0), (1, 1), (0, 1)], q.corners) {
            rows.append([u, v, 1, 0, 0, 0, -p.x * u, -p.x * v, p.x])
            rows.append([0, 0, 0, u, v, 1, -p.y * u, -p.y * v, p.y])
        }
        for column in 0..<8 {
            let pivot = (column..<8).max { abs(rows[$0][column]) < abs(rows[$1][column]) }!
            rows.swapAt(column, pivot)
            for row in 0..<8 where row != column {
                let factor = rows[row][column] / rows[column][column]
                for k in column..<9 { rows[row][k] -= factor * rows[column][k] }
            }
        }
        h = (0..<8).map { rows[$0][8] / rows[$0][$0] }
    }

    func callAsFunction(_ u: Double, _ v: Double) -> (x: Double, y: Double) {
        let w = h[6] * u + h[7] * v + 1
        return ((h[0] * u + h[1] * v + h[2]) / w, (h[3] * u + h[4] * v + h[5]) / w)
    }
}

private func quadrilateral(_ values: [(Double, Double)]) -> Quadrilateral {
    let points = values.map { Quadrilateral.Point(x: $0.0, y: $0.1) }
    return Quadrilateral(topLeft: points[0], topRight: points[1], bottomRight: points[2], bottomLeft: points[3])
}

private func randomQuadrilateral(_ random: inout SeededGenerator, turned: Bool) -> Quadrilateral {
    let corners = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)].map {
        ($0.0 + Double.random(in: -0.17...0.17, using: &random), $0.1 + Double.random(in: -0.17...0.17, using: &random))
    }
    let first = turned ? Int.random(in: 0..<4, using: &random) : 0
    return quadrilateral((0..<4).map { corners[($0 + first) % 4] })
}

struct RectifierTests {
    /// A ramp in each channel, which resizing and bilinear sampling keep as it is.
    private static func ramps(width: Int, height: Int) throws -> PixelBuffer {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let (u, v) = ((Double(x) + 0.5) / Double(width), (Double(y) + 0.5) / Double(height))
                bytes += [u, v, (u + v) / 2].map { UInt8(($0 * 255).rounded()) }
            }
        }
        return try PixelBuffer(bytes, width: width, height: height, format: .rgb8)
    }

    @Test(arguments: 0..<24) func followsTheProjectiveMap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let size = (Int.random(in: 60...900, using: &random), Int.random(in: 60...900, using: &random))
        let image = try Self.ramps(width: size.0, height: size.1)
        let q = randomQuadrilateral(&random, turned: true)
        let rectifier = Rectifier(width: 31, height: 45)
        try #require(rectifier.canRectify(q), "seed \(seed)")
        let pixels = rectifier.rectify(q, of: image)
        let exact = SolvedHomography(q)
        var worst = 0.0
        for y in 0..<45 {
            for x in 0..<31 {
                let point = exact((Double(x) + 0.5) / 31, (Double(y) + 0.5) / 45)
                for (channel, value) in [point.x, point.y, (point.x + point.y) / 2].enumerated() {
                    worst = max(worst, abs(Double(pixels[(y * 31 + x) * 3 + channel]) - value))
                }
            }
        }
        // Half a step of eight bits, and what interpolation between rounded bytes adds.
        #expect(worst < 1.2 / 255, "seed \(seed), \(size): \(worst * 255) of 255 off")
    }

    @Test func theWholeImageAtItsOwnSizeStaysAsItIs() throws {
        let image = SampleImage.blocks(seed: 4, width: 40, height: 32)
        let whole = quadrilateral([(0, 0), (1, 0), (1, 1), (0, 1)])
        let pixels = Rectifier(width: 40, height: 32).rectify(whole, of: image)
        let expected = Resizer(width: 40, height: 32).resize(image)
        for (a, b) in zip(pixels, expected) { #expect(abs(a - b) < 1e-4) }
    }

    /// Fine stripes in a large image must come out grey and not as other stripes.
    @Test func antialiases() throws {
        let side = 960
        var bytes: [UInt8] = []
        for _ in 0..<side { for x in 0..<side { bytes += [UInt8](repeating: x % 2 == 0 ? 255 : 0, count: 3) } }
        let image = try PixelBuffer(bytes, width: side, height: side, format: .rgb8)
        let pixels = Rectifier(width: 64, height: 64).rectify(
            quadrilateral([(0.1, 0.12), (0.9, 0.1), (0.88, 0.9), (0.12, 0.86)]), of: image)
        for value in pixels { #expect(abs(value - 0.5) < 0.02) }
    }

    @Test func whatLiesOutsideRepeatsTheEdge() throws {
        let image = try PixelBuffer([UInt8](repeating: 77, count: 50 * 40 * 3), width: 50, height: 40, format: .rgb8)
        let pixels = Rectifier(width: 16, height: 16).rectify(
            quadrilateral([(-0.5, -0.4), (1.4, -0.3), (1.3, 1.5), (-0.4, 1.2)]), of: image)
        for value in pixels { #expect(abs(value - 77 / 255) < 1e-5) }
    }

    @Test(arguments: 0..<12) func viewsOfViewsCompose(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 100)
        let (outer, inner) = (randomQuadrilateral(&random, turned: true), randomQuadrilateral(&random, turned: false))
        let projected = try #require(outer.projecting(inner))
        let exact = SolvedHomography(outer)
        for (corner, original) in zip(projected.corners, inner.corners) {
            let expected = exact(original.x, original.y)
            #expect(abs(corner.x - expected.x) < 1e-9 && abs(corner.y - expected.y) < 1e-9, "seed \(seed)")
        }
    }

    @Test func scalingKeepsTheMiddle() {
        let q = quadrilateral([(0.1, 0.2), (0.7, 0.1), (0.8, 0.9), (0.2, 0.8)])
        let grown = q.scaled(by: 1.5)
        #expect(abs(grown.area - q.area * 2.25) < 1e-12)
        for (a, b) in zip(grown.corners, q.corners) {
            #expect(abs(a.x - (0.45 + (b.x - 0.45) * 1.5)) < 1e-12 && abs(a.y - (0.5 + (b.y - 0.5) * 1.5)) < 1e-12)
        }
    }

    /// The box of what lies within the image; a quadrilateral beside it stays as it is.
    @Test func boxesStayWithinTheImage() {
        let turned = quadrilateral([(0.1, 0.2), (0.7, 0.1), (0.8, 0.9), (0.2, 0.8)])
        #expect(turned.box == quadrilateral([(0.1, 0.1), (0.8, 0.1), (0.8, 0.9), (0.1, 0.9)]))
        let cut = quadrilateral([(-0.5, 0.2), (0.7, -0.1), (1.8, 0.9), (0.2, 0.8)])
        #expect(cut.box == quadrilateral([(0, 0), (1, 0), (1, 0.9), (0, 0.9)]))
        let beside = quadrilateral([(1.1, 0.1), (1.9, 0.1), (1.9, 0.9), (1.1, 0.9)])
        #expect(beside.box == beside)
    }

    @Test func refusesWhatIsNoView() {
        let rectifier = Rectifier(width: 16, height: 16)
        #expect(rectifier.canRectify(quadrilateral([(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)])))
        let refused: [(String, [(Double, Double)])] = [
            ("mirrored", [(0.8, 0.2), (0.2, 0.2), (0.2, 0.8), (0.8, 0.8)]),
            ("crossed", [(0.2, 0.2), (0.8, 0.8), (0.8, 0.2), (0.2, 0.8)]),
            ("concave", [(0.2, 0.2), (0.8, 0.2), (0.3, 0.3), (0.2, 0.8)]),
            ("a line", [(0.2, 0.2), (0.5, 0.5), (0.8, 0.8), (0.4, 0.4)]),
            ("a point", [(0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.5, 0.5)]),
            ("tiny", [(0.5, 0.5), (0.51, 0.5), (0.51, 0.51), (0.5, 0.51)]),
            ("far outside", [(-3, 0), (1, 0), (1, 1), (0, 1)]),
            ("beside the image", [(1.1, 0.1), (1.9, 0.1), (1.9, 0.9), (1.1, 0.9)]),
            ("not a number", [(.nan, 0), (1, 0), (1, 1), (0, 1)]),
            ("infinite", [(0, 0), (.infinity, 0), (1, 1), (0, 1)]),
        ]
        for (name, corners) in refused { #expect(!rectifier.canRectify(quadrilateral(corners)), "\(name)") }
        // A horizon runs through the view: what is beyond has no place in the image.
        let steep = quadrilateral([(0.45, 0.1), (0.55, 0.1), (1, 1), (0, 1)])
        #expect(steep.projecting(quadrilateral([(0, 0), (1, 0), (1, 1.5), (0, 1.5)])) == nil)
    }
}
