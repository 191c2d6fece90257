import Compute
import Foundation
package import Imaging

/// What the pixels say of two images of which one lies over the other: whether both show the same, and what differs.
///
/// Both are brought to one grid. The colors of one are fitted to the luma of the other by least squares, so that gray
/// copies and those with other hues are alike. Then the structure is compared by the normalized cross-correlation of
/// windows: documents of one template differ in many, and copies in few of them. Pixels that differ from all around
/// them in the other image have changed: as thin strokes where text or a watermark was put on the picture, and as solid
/// regions where the images show other things.
///
/// Source of the correlation: Lewis, "Fast Normalized Cross-Correlation" (1995).
package struct PixelComparison: Sendable, Hashable {
    /// What differs, beside size and quality.
    package enum Difference: Sendable {
        case nothing, color, mark, content
    }

    /// The share of the windows with structure that differ outside solid changed regions, 0...1: those that have
    /// structure in both images and are not correlated, and those that have it in one alone, as far as there are as
    /// many of the other. A watermark adds structure to one image, and what is filled in differs in two.
    let unlikeShare: Double
    /// The share of the pixels that have changed.
    let changedShare: Double
    /// The correlation of the windows around changed pixels, -1...1: high where only tones are cut off.
    let changedCorrelation: Double
    /// The share of the pixels that are in solid changed regions, and the correlation there.
    let solidShare: Double
    let solidCorrelation: Double
    /// The largest share of the pixels of solid regions that have nearly one luma, in one of the images. What is put on
    /// a picture has often one color; a thing that moved is there in one half of the regions of each image.
    let solidTone: Double
    /// The mean difference of the color channels of windows, in which edges count little, 0...1.
    let colorDistance: Double

    // The thresholds are from copies of covers, paintings and photographs in 18 ways, five ways in which a picture
    // shows something else, and drawn forms of one template (`Models/training/duplicates.py`).

    /// Copies have at most 0.13 in nine of ten cases, forms of one template 0.2 to 0.4.
    private static let mostUnlike = 0.17
    /// Copies without a mark have 0 in nine of ten cases; a tiled watermark 0.001 to 0.01.
    private static let leastChanged = 0.0008
    /// Things that moved have 0.008 to 0.08, text and watermarks 0 to 0.001 in nine of ten cases.
    private static let leastSolid = 0.005
    /// A mark leaves most of the picture as it is.
    private static let mostMarked = 0.3
    /// Copies with other tones have 0.4 to 0.97 where they changed; what was put on a picture -0.1 to 0.3, and a
    /// watermark, which leaves the other tones as they are, up to 0.67.
    private static let (leastCorrelation, leastSlightCorrelation) = (0.4, 0.75)
    /// A band of one color has 0.8 to 1, a thing that moved 0.45 to 0.75.
    private static let leastTone = 0.78
    /// Copies of other sizes and qualities have less.
    private static let leastColorDistance = 0.01
    /// Copies with other tones all over have more, those with a watermark 0.005 to 0.025.
    private static let mostMarkedDistance = 0.03

    /// What differs.
    package var difference: Difference {
        if unlikeShare > Self.mostUnlike { return .content }
        let hasOtherTones = colorDistance > Self.mostMarkedDistance
        let isSolid = solidShare >= Self.leastSolid && solidCorrelation < Self.leastCorrelation
        if isSolid { return solidTone >= Self.leastTone && solidShare <= Self.mostMarked ? .mark : .content }
        if changedShare >= Self.leastChanged,
            changedCorrelation < (hasOtherTones ? Self.leastCorrelation : Self.leastSlightCorrelation)
        {
            return .mark
        }
        return colorDistance >= Self.leastColorDistance ? .color : .nothing
    }

    /// The long side of the grid. Thumbnails have 256 pixels.
    private static let longestGrid = 192.0
    private static let shortestGrid = 48.0
    /// Luma is in 0...255 here. A window with less deviation has no structure.
    private static let leastDeviation: Float = 6
    /// A pixel has changed if it differs by this, and by more than the noise.
    private static let leastChange: (luma: Float, noise: Float) = (14, 3)
    private static let window = 7
    private static let solidWindow = 5

    /// Compares two images; nil if the part that both show is too small.
    ///
    /// - Parameter outline: where the second image lies in the first one, as fractions of its sides.
    /// - Complexity: O(pixels of both + 192²).
    package init?(_ first: PixelBuffer, _ second: PixelBuffer, at outline: Quadrilateral) {
        // Neither image is enlarged.
        let (longSide, pixels) = (Double(max(second.width, second.height)), Double(second.width * second.height))
        let detail = (max(outline.area, 0) * Double(first.width * first.height) / pixels).squareRoot()
        let side = min(Self.longestGrid, longSide, longSide * detail)
        let (width, height) = (
            Int((Double(second.width) * side / longSide).rounded()),
            Int((Double(second.height) * side / longSide).rounded())
        )
        let rectifier = Rectifier(width: max(width, 1), height: max(height, 1))
        guard side >= Self.shortestGrid, min(width, height) > 4 * Self.window, rectifier.canRectify(outline) else {
            return nil
        }
        let colors = rectifier.rectify(outline, of: first).map { $0 * 255 }
        let others = Resizer(width: width, height: height).resize(second).map { $0 * 255 }
        let grid = Grid(width: width, height: height, inside: outline)
        guard grid.count >= width * height / 8 else { return nil }

        let luma = (0..<width * height).map { Self.luma(others, $0) }
        let fitted = Self.fitted(colors, to: luma, grid)
        let noise = grid.median { abs(fitted[$0] - luma[$0]) }
        let least = max(Self.leastChange.luma, Self.leastChange.noise * noise)
        let (a, b) = (grid.beyondNeighbors(fitted, luma), grid.beyondNeighbors(luma, fitted))
        let changed = grid.mask { min(a[$0], b[$0]) > least }
        let solid = grid.opened(changed, by: Self.solidWindow)
        let around = grid.dilated(solid, by: 3)
        let windows = grid.windows(fitted, luma, size: Self.window)

        var counts = (all: 0, both: 0, first: 0, second: 0)
        for pixel in grid.pixels where !around[pixel] && windows[pixel].deviations.max() > Self.leastDeviation {
            let window = windows[pixel]
            counts.all += 1
            guard window.correlation < Float(Self.leastCorrelation) else { continue }
            if window.deviations.min() > Self.leastDeviation {
                counts.both += 1
            } else if window.deviations[0] > window.deviations[1] {
                counts.first += 1
            } else {
                counts.second += 1
            }
        }
        unlikeShare = Double(counts.both + 2 * min(counts.first, counts.second)) / Double(max(counts.all, 1))
        changedShare = grid.share { changed[$0] }
        changedCorrelation = grid.mean({ windows[$0].correlation }) { changed[$0] }
        solidShare = grid.share { solid[$0] }
        solidCorrelation = grid.mean({ windows[$0].correlation }) { around[$0] }
        // What was fitted to another picture may have one tone.
        let ownLuma = (0..<width * height).map { Self.luma(colors, $0) }
        solidTone = max(grid.tone(of: ownLuma) { solid[$0] }, grid.tone(of: luma) { solid[$0] })
        colorDistance = grid.colorDistance(colors, others, size: Self.window)
    }

    /// Rec. 601.
    private static func luma(_ colors: [Float], _ pixel: Int) -> Float {
        0.299 * colors[pixel * 3] + 0.587 * colors[pixel * 3 + 1] + 0.114 * colors[pixel * 3 + 2]
    }

    /// The combination of the channels that is nearest to a luma, without the pixels that have other content: those
    /// that are far off are left out, and the rest is fitted again.
    private static func fitted(_ colors: [Float], to luma: [Float], _ grid: Grid) -> [Float] {
        func row(_ pixel: Int) -> SIMD4<Float> {
            SIMD4(colors[pixel * 3], colors[pixel * 3 + 1], colors[pixel * 3 + 2], 1)
        }
        // Some thousand pixels determine four coefficients.
        let sample = grid.sample
        var coefficients = SIMD4<Float>(0.299, 0.587, 0.114, 0)
        for _ in 0..<4 {
            let residuals = sample.map { abs((row($0) * coefficients).sum() - luma[$0]) }
            let limit = max(6, 1.5 * residuals.sorted()[residuals.count * 7 / 10])
            let used = zip(sample, residuals).filter { $1 < limit }.map(\.0)
            var (matrix, right) = ([SIMD4<Float>](repeating: SIMD4(), count: 4), SIMD4<Float>())
            // Of gray images all channels say the same, which determines no coefficients.
            for channel in 0..<3 { matrix[channel][channel] = 0.05 * Float(used.count) }
            for pixel in used {
                let row = row(pixel)
                for i in 0..<4 { matrix[i] += row[i] * row }
                right += row * luma[pixel]
            }
            let rows = matrix.flatMap { row in (0..<4).map { Double(row[$0]) } }
            guard let found = solution(of: rows, (0..<4).map { Double(right[$0]) }) else { break }
            coefficients = SIMD4(found.map(Float.init))
        }
        // The other image may have no lighter and no darker tones: they are cut off in pale copies.
        let tones = sample.map { luma[$0] }.sorted()
        let (darkest, lightest) = (tones[tones.count / 200], tones[tones.count - 1 - tones.count / 200])
        var result = luma
        for pixel in grid.pixels { result[pixel] = max(darkest, min((row(pixel) * coefficients).sum(), lightest)) }
        return result
    }
}

/// The pixels of a grid over an image that lie within another one too, and what masks and windows of them are.
private struct Grid {
    let width: Int
    let height: Int
    /// The pixels that both images show, away from the edges.
    let pixels: [Int]

    /// Pixels nearer to an edge may show what is beyond it.
    private static let margin = 3

    var count: Int { pixels.count }

    /// - Parameter outline: where the grid lies in the other image.
    init(width: Int, height: Int, inside outline: Quadrilateral) {
        (self.width, self.height) = (width, height)
        let place = ProjectiveTransform(unitSquareTo: outline)
        func isInside(_ x: Int, _ y: Int) -> Bool {
            let (u, v) = place((Double(x) + 0.5) / Double(width), (Double(y) + 0.5) / Double(height))
            return (0...1).contains(u) && (0...1).contains(v)
        }
        let margin = Self.margin
        pixels = (margin..<height - margin).flatMap { y in
            (margin..<width - margin).compactMap { x in
                let isAround = [(-margin, -margin), (margin, -margin), (-margin, margin), (margin, margin)]
                    .allSatisfy { isInside(x + $0, y + $1) }
                return isAround ? y * width + x : nil
            }
        }
    }

    func mask(_ holds: (Int) -> Bool) -> [Bool] {
        var mask = [Bool](repeating: false, count: width * height)
        for pixel in pixels { mask[pixel] = holds(pixel) }
        return mask
    }

    func share(_ holds: (Int) -> Bool) -> Double { Double(pixels.count(where: holds)) / Double(pixels.count) }

    func mean(_ value: (Int) -> Float, in mask: (Int) -> Bool) -> Double {
        let values = pixels.filter(mask).map(value)
        return values.isEmpty ? 0 : Double(values.reduce(0, +)) / Double(values.count)
    }

    /// Some thousand pixels from all over the grid.
    var sample: [Int] { stride(from: 0, to: pixels.count, by: max(1, pixels.count / 4000)).map { pixels[$0] } }

    func median(_ value: (Int) -> Float) -> Float {
        let values = sample.map(value).sorted()
        return values[values.count / 2]
    }

    /// The largest share of the pixels in a mask whose values lie within 16 of 256.
    func tone(of values: [Float], in mask: (Int) -> Bool) -> Double {
        var counts = [Int](repeating: 0, count: 33)
        let inside = pixels.filter(mask)
        for pixel in inside { counts[Int(max(0, min(values[pixel], 255)) / 8)] += 1 }
        let most = zip(counts, counts.dropFirst()).map { $0 + $1 }.max() ?? 0
        return inside.isEmpty ? 0 : Double(most) / Double(inside.count)
    }

    /// How far each value is beyond those of the nine pixels at its place in another image. Strokes that lie half a
    /// pixel beside each other are not.
    func beyondNeighbors(_ values: [Float], _ others: [Float]) -> [Float] {
        var result = [Float](repeating: 0, count: width * height)
        for pixel in pixels {
            var (lowest, highest) = (Float.infinity, -Float.infinity)
            for row in [pixel - width, pixel, pixel + width] {
                for other in row - 1...row + 1 {
                    lowest = min(lowest, others[other])
                    highest = max(highest, others[other])
                }
            }
            result[pixel] = max(values[pixel] - highest, lowest - values[pixel], 0)
        }
        return result
    }

    /// The mask without what is smaller than a square in any direction: its opening.
    func opened(_ mask: [Bool], by side: Int) -> [Bool] {
        let sums = Sums(mask.map { $0 ? 1 : 0 }, width: width, height: height)
        return dilated(self.mask { sums.around($0, side) == Double(side * side) }, by: side)
    }

    func dilated(_ mask: [Bool], by side: Int) -> [Bool] {
        let sums = Sums(mask.map { $0 ? 1 : 0 }, width: width, height: height)
        return self.mask { sums.around($0, side) > 0 }
    }

    /// The mean difference of the channels' means around each pixel.
    func colorDistance(_ a: [Float], _ b: [Float], size: Int) -> Double {
        let sums = (0..<3).map { channel in
            Sums(
                (0..<width * height).map { Double(a[$0 * 3 + channel] - b[$0 * 3 + channel]) }, width: width,
                height: height)
        }
        let (sample, scale) = (sample, 3 * 255 * Double(size * size))
        return sample.reduce(0) { sum, pixel in
            sums.reduce(sum) { $0 + abs($1.around(pixel, size)) / scale }
        } / Double(sample.count)
    }

    /// The normalized cross-correlation of two images around each pixel, and the standard deviations of both.
    func windows(_ a: [Float], _ b: [Float], size: Int) -> [(correlation: Float, deviations: SIMD2<Float>)] {
        func sums(_ value: (Int) -> Float) -> Sums {
            Sums((0..<width * height).map { Double(value($0)) }, width: width, height: height)
        }
        let (sumA, sumB, products) = (sums { a[$0] }, sums { b[$0] }, sums { a[$0] * b[$0] })
        let (squaresA, squaresB) = (sums { a[$0] * a[$0] }, sums { b[$0] * b[$0] })
        var result = [(correlation: Float, deviations: SIMD2<Float>)](repeating: (0, SIMD2()), count: width * height)
        let count = Double(size * size)
        for pixel in pixels {
            let (meanA, meanB) = (sumA.around(pixel, size) / count, sumB.around(pixel, size) / count)
            let varianceA = squaresA.around(pixel, size) / count - meanA * meanA
            let varianceB = squaresB.around(pixel, size) / count - meanB * meanB
            let covariance = products.around(pixel, size) / count - meanA * meanB
            // The floor keeps the noise of even windows from being taken for structure.
            let scale = (max(varianceA, 4) * max(varianceB, 4)).squareRoot()
            let deviations = SIMD2(Float(max(varianceA, 0)), Float(max(varianceB, 0))).squareRoot()
            result[pixel] = (Float(covariance / scale), deviations)
        }
        return result
    }

    /// Sums over squares in constant time (Crow, "Summed-area Tables for Texture Mapping", 1984).
    private struct Sums {
        private let table: [Double]
        private let width: Int

        init(_ values: [Double], width: Int, height: Int) {
            self.width = width
            var table = [Double](repeating: 0, count: (width + 1) * (height + 1))
            for y in 0..<height {
                var row = 0.0
                for x in 0..<width {
                    row += values[y * width + x]
                    table[(y + 1) * (width + 1) + x + 1] = table[y * (width + 1) + x + 1] + row
                }
            }
            self.table = table
        }

        /// The sum over a square of an odd side around a pixel, which lies within the grid.
        func around(_ pixel: Int, _ side: Int) -> Double {
            let (x, y, reach) = (pixel % width, pixel / width, side / 2)
            let (top, bottom) = ((y - reach) * (width + 1), (y + reach + 1) * (width + 1))
            return table[bottom + x + reach + 1] - table[bottom + x - reach] - table[top + x + reach + 1]
                + table[top + x - reach]
        }
    }
}
