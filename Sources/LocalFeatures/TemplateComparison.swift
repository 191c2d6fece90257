import Foundation
package import Imaging

/// Which of the images of one template a query shows, if any: tickets, badges and labels that differ in a few words,
/// packages of one brand in another flavor.
///
/// Most local features of such images agree, whichever of them is shown. What tells them apart is where their pixels
/// differ: there the query has to look like the image as much as it does elsewhere. All are brought to one grid and
/// aligned by the shifts of small windows; the sharper images are blurred as the query is, and windows are compared by
/// their normalized cross-correlation (Lewis, "Fast Normalized Cross-Correlation", 1995). Images that differ nowhere,
/// as copies do, say nothing. Of a single image ``likeness(of:with:at:)`` says how much of it the query shows.
package enum TemplateComparison {
    /// Luma is in 0...255 here. A window with less deviation has no structure.
    fileprivate static let leastDeviation: Float = 5
    /// Windows of two images differ, or are the same, from these correlations on.
    private static let (mostUnlike, leastAlike): (Float, Float) = (0.6, 0.8)
    /// Fewer windows that differ say nothing.
    private static let fewestUnlike = 8
    /// Images of one template have more windows in common.
    private static let leastCommon = 0.7
    /// Where the query and the template are less alike, the query resolves too little, or is not flat.
    private static let leastResolved: Float = 0.8

    /// Windows of a query and an image look the same from this correlation on.
    private static let sameWindow: Float = 0.6
    /// Fewer structured windows say nothing.
    private static let fewestStructured = 30

    /// The share of the structured windows of an image that look the same in a query, 0...1; nil if it shows too little
    /// of them. Pictures that a query shows have 0.6 to 1, what features take for them by chance 0.2 to 0.6, and things
    /// with depth anything between.
    ///
    /// - Parameter outline: where the query shows the image, as fractions of its sides.
    /// - Complexity: O(pixels of the grid).
    package static func likeness(
        of query: PixelBuffer, with thumbnail: PixelBuffer, at outline: Quadrilateral
    ) -> Double? {
        guard let pair = AlignedPair(query, with: thumbnail, at: outline) else { return nil }
        let (_, blurred, structured) = pair.blurring()
        guard structured.count >= fewestStructured else { return nil }
        let same = blurred.shifts(to: pair.shown, at: structured, reach: 1).count { $0.correlation > sameWindow }
        return Double(same) / Double(structured.count)
    }

    /// For each image its correlation with the query where others of the template differ from it, as a share of the
    /// correlation elsewhere, about -0.2...1; nil if no other differs, or the query does not resolve it.
    ///
    /// - Parameter images: with where the query shows each, as fractions of its sides, and what each is an image of.
    ///   Images of one thing, as by day and by night, speak against each other only where another thing is a rival.
    /// - Complexity: O(images · pixels of the grid).
    package static func agreements(
        of query: PixelBuffer, with images: [(thumbnail: PixelBuffer, outline: Quadrilateral, thing: Int64)]
    ) -> [Double?] {
        var agreements = [Double?](repeating: nil, count: images.count)
        guard images.count > 1, let pair = AlignedPair(query, with: images[0].thumbnail, at: images[0].outline) else {
            return agreements
        }
        let (outline, reference, shown, places) = (images[0].outline, pair.reference, pair.shown, pair.places)
        var grids: [LumaGrid?] = [reference]
        for image in images.dropFirst() {
            grids.append(outline.seen(from: image.outline).flatMap { reference.aligned(image.thumbnail, at: $0) })
        }
        let passes = pair.blurring().passes
        grids = grids.map { $0?.blurred(passes) }

        let toQuery = grids.map { grid in
            grid.map { grid in
                grid.shifts(to: shown, at: places, reach: 1).enumerated().map { index, shift in
                    grid.deviation(at: places[index]) > Self.leastDeviation ? shift.correlation : .nan
                }
            }
        }
        /// The mean correlations of two images with the query where they differ, the first as a share of that where
        /// both are the same.
        func differing(_ one: Int, _ other: Int) -> (one: Double, other: Double)? {
            guard let grid = grids[one], let otherGrid = grids[other], let own = toQuery[one],
                let theirs = toQuery[other]
            else { return nil }
            let between = grid.shifts(to: otherGrid, at: places, reach: 1)
            let inside = places.indices.filter { otherGrid.covers(places[$0]) }
            let seen = inside.filter { !own[$0].isNaN || !theirs[$0].isNaN }
            let common = seen.filter { between[$0].correlation > Self.leastAlike && !own[$0].isNaN }
            guard Double(common.count) > Self.leastCommon * Double(seen.count), !common.isEmpty else { return nil }
            let resolved = common.map { own[$0] }.sorted()[common.count / 2]
            guard resolved > Self.leastResolved else { return nil }
            func mean(_ values: [Float]) -> Double? {
                let used = seen.filter { between[$0].correlation < Self.mostUnlike && !values[$0].isNaN }
                guard used.count >= Self.fewestUnlike else { return nil }
                return Double(used.reduce(0) { $0 + values[$1] } / Float(used.count) / resolved)
            }
            guard let mine = mean(own), let their = mean(theirs) else { return nil }
            return (mine, their)
        }
        // The one that is most like the query where two differ.
        var (likeliest, compared) = (0, [Int: (one: Double, other: Double)]())
        for other in images.indices.dropFirst() {
            guard let found = differing(likeliest, other) else { continue }
            if found.other > found.one {
                compared = [likeliest: (found.other, found.one)]
                likeliest = other
            } else {
                compared[other] = found
            }
        }
        var ownOthers: [(index: Int, agreement: Double)] = []
        for other in images.indices where other != likeliest {
            guard let found = compared[other] ?? differing(likeliest, other) else { continue }
            if images[other].thing == images[likeliest].thing {
                ownOthers.append((other, found.other))
            } else {
                agreements[other] = found.other
                agreements[likeliest] = min(agreements[likeliest] ?? found.one, found.one)
            }
        }
        if agreements[likeliest] != nil { for (index, agreement) in ownOthers { agreements[index] = agreement } }
        return agreements
    }
}

/// An image on a grid, and what a query shows of it.
private struct AlignedPair {
    let reference: LumaGrid
    let shown: LumaGrid
    /// The windows that the query shows.
    let places: [LumaGrid.Place]

    /// The long side of the grid. Thumbnails have 256 pixels.
    private static let longestGrid = 192.0
    private static let shortestGrid = 48.0
    /// The distance of windows.
    private static let step = 3
    /// Passes of a binomial filter, standard deviations of 0, 0.7, 1, 1.4, 2 pixels.
    private static let blurs = [0, 1, 1, 2, 4]

    /// - Parameter outline: where the query shows the image, as fractions of its sides.
    /// - Returns: nil if the query shows the image too small or from too far aside.
    init?(_ query: PixelBuffer, with thumbnail: PixelBuffer, at outline: Quadrilateral) {
        let (longSide, pixels) = (
            Double(max(thumbnail.width, thumbnail.height)), Double(thumbnail.width * thumbnail.height)
        )
        // Neither image is enlarged.
        let detail = (max(outline.area, 0) * Double(query.width * query.height) / pixels).squareRoot()
        let side = min(Self.longestGrid, longSide, longSide * detail)
        let (width, height) = (
            Int(Double(thumbnail.width) * side / longSide), Int(Double(thumbnail.height) * side / longSide)
        )
        guard side >= Self.shortestGrid, min(width, height) >= 4 * LumaGrid.window,
            let reference = LumaGrid(thumbnail, at: .unit, width: width, height: height),
            let shown = reference.aligned(query, at: outline)
        else { return nil }
        (self.reference, self.shown, places) = (reference, shown, shown.places(step: Self.step))
    }

    /// The image as blurred as the query, by which passes, and its windows with structure.
    func blurring() -> (passes: Int, image: LumaGrid, structured: [LumaGrid.Place]) {
        var (passes, alike, blurred) = (0, -Float.infinity, reference)
        var best = (passes: 0, image: reference, structured: [LumaGrid.Place]())
        for more in Self.blurs {
            blurred = blurred.blurred(more)
            passes += more
            let structured = places.filter { blurred.deviation(at: $0) > TemplateComparison.leastDeviation }
            let found =
                blurred.shifts(to: shown, at: structured, reach: 0).reduce(0) { $0 + $1.correlation }
                / Float(max(structured.count, 1))
            guard found > alike else { break }
            (alike, best) = (found, (passes, blurred, structured))
        }
        return best
    }
}

extension Quadrilateral {
    /// Where these corners lie in an image that has the corners of another quadrilateral; nil if beyond its horizon.
    fileprivate func seen(from other: Quadrilateral) -> Quadrilateral? {
        let pairs = zip(other.corners, Quadrilateral.unit.corners).map {
            (SIMD2($0.x * 2 - 1, $0.y * 2 - 1), SIMD2($1.x * 2 - 1, $1.y * 2 - 1))
        }
        guard let map = Homography.fitting(pairs.map { (from: $0, to: $1) }, isProjective: true) else { return nil }
        return mapped { point in
            map.project(point.x * 2 - 1, point.y * 2 - 1).map { Point(x: ($0.x + 1) / 2, y: ($0.y + 1) / 2) }
        }
    }

    fileprivate func mapped(_ map: (Point) -> Point?) -> Quadrilateral? {
        let mapped = corners.compactMap(map)
        guard mapped.count == 4 else { return nil }
        return Quadrilateral(topLeft: mapped[0], topRight: mapped[1], bottomRight: mapped[2], bottomLeft: mapped[3])
    }
}

/// The luma of an image on a grid.
private struct LumaGrid {
    var pixels: [Float]
    let width: Int
    let height: Int
    /// Where the grid lies in the image.
    let quadrilateral: Quadrilateral

    typealias Place = (x: Int, y: Int)
    typealias Shift = (correlation: Float, x: Int, y: Int)

    static let window = 8
    /// The least variance that counts: noise of even windows is no structure.
    private static let leastVariance: Float = 4
    /// The largest shifts of windows in pixels, first at half the size, then at the full one.
    private static let reaches = [(scale: 2, reach: 3), (scale: 1, reach: 2)]
    private static let alignedStep = 5
    private static let alignedDeviation: Float = 8
    private static let leastAligned: Float = 0.7
    private static let fewestAligned = 12
    private static let mostOff = 1.5
    private static let rounds = 3

    init?(_ image: PixelBuffer, at quadrilateral: Quadrilateral, width: Int, height: Int) {
        let rectifier = Rectifier(width: width, height: height)
        guard rectifier.canRectify(quadrilateral) else { return nil }
        let colors = rectifier.rectify(quadrilateral, of: image)
        pixels = (0..<width * height).map {
            // Rec. 601.
            76.245 * colors[$0 * 3] + 149.685 * colors[$0 * 3 + 1] + 29.07 * colors[$0 * 3 + 2]
        }
        (self.width, self.height, self.quadrilateral) = (width, height, quadrilateral)
    }

    /// Whether the image shows a window.
    func covers(_ place: Place) -> Bool {
        let transform = ProjectiveTransform(unitSquareTo: quadrilateral)
        return [(0, 0), (Self.window, 0), (0, Self.window), (Self.window, Self.window)].allSatisfy {
            let (u, v) = transform(Double(place.x + $0) / Double(width), Double(place.y + $1) / Double(height))
            return (0...1).contains(u) && (0...1).contains(v)
        }
    }

    /// The corners of the windows that the image shows.
    func places(step: Int) -> [Place] {
        stride(from: 1, to: height - Self.window, by: step).flatMap { y in
            stride(from: 1, to: width - Self.window, by: step).map { x in (x, y) }.filter(covers)
        }
    }

    func deviation(at place: Place) -> Float {
        var (sum, squares) = (SIMD8<Float>.zero, SIMD8<Float>.zero)
        pixels.withUnsafeBytes { pixels in
            for row in 0..<Self.window {
                let values = Self.row(pixels, (place.y + row) * width + place.x)
                sum += values
                squares += values * values
            }
        }
        let count = Float(Self.window * Self.window)
        return max(squares.sum() / count - (sum.sum() / count) * (sum.sum() / count), 0).squareRoot()
    }

    private static func row(_ pixels: UnsafeRawBufferPointer, _ first: Int) -> SIMD8<Float> {
        pixels.loadUnaligned(fromByteOffset: first * MemoryLayout<Float>.stride, as: SIMD8<Float>.self)
    }

    /// The shift of each window at which it is most like another image.
    func shifts(to other: LumaGrid, at places: [Place], reach: Int) -> [Shift] {
        let count = Float(Self.window * Self.window)
        return pixels.withUnsafeBytes { own in
            other.pixels.withUnsafeBytes { others in
                places.map { place in
                    var (sum, squares) = (SIMD8<Float>.zero, SIMD8<Float>.zero)
                    for row in 0..<Self.window {
                        let values = Self.row(own, (place.y + row) * width + place.x)
                        sum += values
                        squares += values * values
                    }
                    let mean = sum.sum() / count
                    let variance = max(squares.sum() / count - mean * mean, Self.leastVariance)
                    var best: Shift = (-1, 0, 0)
                    for y in max(-reach, -place.y)...min(reach, height - Self.window - place.y) {
                        for x in max(-reach, -place.x)...min(reach, width - Self.window - place.x) {
                            var sum = SIMD8<Float>.zero
                            var (squares, products) = (sum, sum)
                            for row in 0..<Self.window {
                                let offset = (place.y + row) * width + place.x
                                let theirs = Self.row(others, offset + y * width + x)
                                sum += theirs
                                squares += theirs * theirs
                                products += theirs * Self.row(own, offset)
                            }
                            let theirMean = sum.sum() / count
                            let theirVariance = max(squares.sum() / count - theirMean * theirMean, Self.leastVariance)
                            let correlation =
                                (products.sum() / count - mean * theirMean) / (variance * theirVariance).squareRoot()
                            if correlation > best.correlation { best = (correlation, x, y) }
                        }
                    }
                    return best
                }
            }
        }
    }

    /// Another image on this grid, as near as its windows say.
    ///
    /// - Parameter start: where it has the grid, about.
    func aligned(_ image: PixelBuffer, at start: Quadrilateral) -> LumaGrid? {
        var place = start
        for (scale, reach) in Self.reaches {
            let own = scale == 1 ? self : halved
            guard let other = LumaGrid(image, at: place, width: own.width, height: own.height) else { return nil }
            if let refined = own.refined(other, reach: reach) { place = refined }
        }
        return LumaGrid(image, at: place, width: width, height: height)
    }

    /// Where another image has the grid, by the shifts of windows; nil if too few agree.
    private func refined(_ other: LumaGrid, reach: Int) -> Quadrilateral? {
        let places = other.places(step: Self.alignedStep).filter { deviation(at: $0) > Self.alignedDeviation }
        let half = Double(max(width, height)) / 2
        let center = SIMD2(Double(width), Double(height)) / 2
        var pairs = zip(places, shifts(to: other, at: places, reach: reach)).compactMap { place, shift in
            shift.correlation < Self.leastAligned
                ? nil
                : (
                    from: (SIMD2(Double(place.x), Double(place.y)) + Double(Self.window) / 2 - center) / half,
                    to: (SIMD2(Double(place.x + shift.x), Double(place.y + shift.y)) + Double(Self.window) / 2 - center)
                        / half
                )
        }
        var map: Homography?
        for _ in 0..<Self.rounds {
            guard pairs.count >= Self.fewestAligned, let fitted = Homography.fitting(pairs, isProjective: true) else {
                return nil
            }
            map = fitted
            pairs.removeAll { pair in
                guard let place = fitted.project(pair.from.x, pair.from.y) else { return true }
                return hypot(place.x - pair.to.x, place.y - pair.to.y) * half > Self.mostOff
            }
        }
        let transform = ProjectiveTransform(unitSquareTo: other.quadrilateral)
        return Quadrilateral.unit.mapped { corner in
            let from = (SIMD2(corner.x * Double(width), corner.y * Double(height)) - center) / half
            guard let to = map?.project(from.x, from.y) else { return nil }
            let (x, y) = transform(
                (to.x * half + center.x) / Double(width), (to.y * half + center.y) / Double(height))
            return Quadrilateral.Point(x: x, y: y)
        }
    }

    private var halved: LumaGrid {
        var half = self
        half = LumaGrid(
            pixels: [Float](repeating: 0, count: (width / 2) * (height / 2)), width: width / 2, height: height / 2,
            quadrilateral: quadrilateral)
        for y in 0..<half.height {
            for x in 0..<half.width {
                let first = 2 * y * width + 2 * x
                half.pixels[y * half.width + x] =
                    (pixels[first] + pixels[first + 1] + pixels[first + width] + pixels[first + width + 1]) / 4
            }
        }
        return half
    }

    private init(pixels: [Float], width: Int, height: Int, quadrilateral: Quadrilateral) {
        (self.pixels, self.width, self.height, self.quadrilateral) = (pixels, width, height, quadrilateral)
    }

    /// Smoothed by a binomial filter of three pixels in both directions, some times.
    func blurred(_ passes: Int) -> LumaGrid {
        var grid = self
        for _ in 0..<passes {
            for (step, count, stride, lines) in [(1, width, width, height), (width, height, 1, width)] {
                for line in 0..<lines {
                    var before = grid.pixels[line * stride]
                    for index in 0..<count {
                        let place = line * stride + index * step
                        let own = grid.pixels[place]
                        let after = index + 1 < count ? grid.pixels[place + step] : own
                        grid.pixels[place] = (before + 2 * own + after) / 4
                        before = own
                    }
                }
            }
        }
        return grid
    }
}
