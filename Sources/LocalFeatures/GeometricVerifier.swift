import Foundation
public import Imaging

/// Decides whether matches agree on one homography, and where in the query the image lies.
///
/// Every match has a scale and an angle, and so proposes a similarity. The similarities with most support are refined
/// to an affine map and then to a homography, by least squares over their inliers, with a tolerance that shrinks.
/// Inliers agree in scale and angle, too. The result is deterministic.
///
/// J. Philbin et al., "Object retrieval with large vocabularies and fast spatial matching", CVPR 2007; O. Chum,
/// J. Matas and J. Kittler, "Locally optimized RANSAC", 2003.
struct GeometricVerifier {
    /// Tolerances as shares of the query's long side: for similarities, and for the final homography.
    private static let looseTolerance: Float = 0.05
    private static let tightTolerance: Float = 0.01
    /// The smallest tolerance in pixels: keypoints in small images are not placed better.
    private static let leastTolerance: Float = 3
    /// Matches that propose a similarity: the most distinctive ones.
    private static let mostProposals = 200
    private static let mostRefinements = 4
    /// Fewer inliers agree by chance in most pairs of images.
    private static let fewestInliers = 6
    /// Cells of the grid that spreads inliers, on an image of which all is visible, and how many each may count.
    private static let cellsPerSide: Float = 5
    private static let mostPerCell = 2
    /// The least visible share that cells are made smaller for.
    private static let leastVisible: Float = 1 / 9
    /// So many inliers do not agree by chance on a plane that reaches the horizon.
    private static let fewestOfHorizon = 12
    /// An octave of scale in either direction.
    private static let scaleRange: ClosedRange<Float> = 0.5...2

    /// The size of the query in pixels of its keypoints.
    let queryWidth: Float
    let queryHeight: Float

    private var longSide: Float { max(queryWidth, queryHeight) }
    private var loose: Float { Self.looseTolerance * longSide }
    private var tight: Float { max(Self.tightTolerance * longSide, Self.leastTolerance) }

    /// The homography with most inliers.
    ///
    /// - Parameters:
    ///   - matches: most distinctive first.
    ///   - image: the catalog image.
    /// - Returns: nil if fewer than six matches agree, or only on an impossible shape.
    /// - Complexity: O(matches²).
    func verify(_ matches: [FeatureMatch], of image: LocalFeatures) -> VerifiedOutline? {
        guard matches.count >= Self.fewestInliers else { return nil }
        let table = MatchTable(matches)
        let proposals = (0..<min(matches.count, Self.mostProposals)).map { index in
            (
                index: index,
                support: table.support(of: table.similarity(of: index), tolerance: loose, scales: Self.scaleRange)
            )
        }.filter { $0.support >= Self.fewestInliers }.sorted { ($1.support, $0.index) < ($0.support, $1.index) }
        let frame = Frame(
            catalog: (Double(image.width), Double(image.height)), query: (Double(queryWidth), Double(queryHeight)))
        var best: (spread: [Int], inliers: [Int], homography: Homography, outline: Quadrilateral)?
        var explained: Set<Int> = []
        var refinements = 0
        for proposal in proposals where refinements < Self.mostRefinements {
            // A homography has at most about twice as many inliers as its similarity has supporters.
            guard proposal.support * 2 > best?.spread.count ?? 0 else { break }
            guard !explained.contains(proposal.index) else { continue }
            refinements += 1
            let similarity = table.similarity(of: proposal.index)
            let supporters = table.supporters(of: similarity, tolerance: loose, scales: Self.scaleRange)
            guard let (homography, inliers) = refine(supporters, of: matches, in: frame) else { continue }
            explained.formUnion(inliers)
            let spread = spread(
                inliers, of: matches, width: Float(image.width), height: Float(image.height),
                visibleShare: frame.visibleShare(under: homography))
            guard spread.count >= Self.fewestInliers, spread.count > best?.spread.count ?? 0 else { continue }
            let canReachHorizon = spread.count >= Self.fewestOfHorizon
            guard
                let outline = frame.outline(homography)
                    ?? (canReachHorizon ? frame.affine(homography, at: inliers.map { matches[$0] }) : nil)
                    .flatMap(frame.outline)
            else { continue }
            best = (spread, inliers, homography, outline)
        }
        return best.map { spread, inliers, homography, outline in
            VerifiedOutline(
                inliers: spread, explained: inliers.map { matches[$0].queryIndex },
                supportCount: Set(inliers.map { matches[$0].catalogIndex }).count,
                visibleCount: image.keypoints.count { frame.isVisible(Double($0.x), Double($0.y), under: homography) },
                matchCount: Set(matches.map(\.queryIndex)).count, outline: outline)
        }
    }

    private func refine(_ supporters: [Int], of matches: [FeatureMatch], in frame: Frame) -> (Homography, [Int])? {
        // A wide tolerance first, so that an affine map may leave the similarity, and perspective the affine map.
        let tolerances =
            [0.7 * loose, 0.7 * loose, 0.4 * (loose + tight), 0.4 * (loose + tight)] + Array(repeating: tight, count: 4)
        var inliers = supporters
        var homography: Homography?
        for (round, tolerance) in tolerances.enumerated() {
            let isProjective = round >= 3 && inliers.count >= 7
            guard
                let fitted = Homography.fitting(
                    inliers.lazy.map { frame.pair(matches[$0]) }, isProjective: isProjective)
            else { return nil }
            homography = fitted
            let limit = Double(max(tolerance, tight))
            let isLast = round == tolerances.count - 1
            inliers = matches.indices.filter {
                frame.squaredError(of: matches[$0], under: fitted) < limit * limit
                    && (!isLast || frame.agrees(matches[$0], with: fitted))
            }
            guard inliers.count >= Self.fewestInliers else { return nil }
        }
        return homography.map { ($0, inliers) }
    }

    /// Inliers at places of their own in both images, and at most two per cell of a grid on the catalog image: a
    /// repeated pattern, or one place at two scales, is not evidence twice; a logo in a corner is little evidence for
    /// the rest. The part of the image that is visible has about 25 cells.
    private func spread(
        _ inliers: [Int], of matches: [FeatureMatch], width: Float, height: Float, visibleShare: Float
    ) -> [Int] {
        var kept: [FeatureMatch] = []
        let side = Int((Self.cellsPerSide / max(visibleShare, Self.leastVisible).squareRoot()).rounded())
        var cells = [Int](repeating: 0, count: side * side)
        for index in inliers {
            let match = matches[index]
            func cell(_ position: Float, of length: Float) -> Int {
                min(max(Int(position / length * Float(side)), 0), side - 1)
            }
            let place = cell(match.catalog.y, of: height) * side + cell(match.catalog.x, of: width)
            guard cells[place] < Self.mostPerCell else { continue }
            func isClose(_ a: Keypoint, _ b: Keypoint) -> Bool {
                (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) < 4
            }
            if kept.contains(where: { isClose($0.query, match.query) || isClose($0.catalog, match.catalog) }) {
                continue
            }
            kept.append(match)
            cells[place] += 1
        }
        return kept.map(\.queryIndex)
    }
}

/// The coordinates of both images, centered and about as large as 1.
private struct Frame {
    let catalog: (width: Double, height: Double)
    let query: (width: Double, height: Double)

    init(catalog: (Double, Double), query: (Double, Double)) { (self.catalog, self.query) = (catalog, query) }

    private var catalogScale: Double { 2 / max(catalog.width, catalog.height) }
    private var queryScale: Double { 2 / max(query.width, query.height) }

    private func centered(_ x: Double, _ y: Double) -> SIMD2<Double> {
        SIMD2((x - catalog.width / 2) * catalogScale, (y - catalog.height / 2) * catalogScale)
    }

    func pair(_ match: FeatureMatch) -> (from: SIMD2<Double>, to: SIMD2<Double>) {
        (
            centered(Double(match.catalog.x), Double(match.catalog.y)),
            SIMD2(
                (Double(match.query.x) - query.width / 2) * queryScale,
                (Double(match.query.y) - query.height / 2) * queryScale)
        )
    }

    /// The squared distance, in pixels of the query, between a query keypoint and its catalog keypoint as a homography
    /// maps it.
    func squaredError(of match: FeatureMatch, under homography: Homography) -> Double {
        let (from, to) = pair(match)
        guard let place = homography.project(from.x, from.y) else { return .infinity }
        let (x, y) = ((place.x - to.x) / queryScale, (place.y - to.y) / queryScale)
        return x * x + y * y
    }

    /// The largest ratio of the scale of a match to that of the homography, either way.
    private static let largestScaleError = 1.7
    /// The cosine of the largest difference of the angles, 34°.
    private static let leastCosine = 0.825

    /// Whether the scale and the angle of a match are those of the homography at its place: of what is close by chance
    /// one in ten.
    func agrees(_ match: FeatureMatch, with homography: Homography) -> Bool {
        let from = pair(match).from
        let slope = homography.derivative(at: from)
        let area = abs(slope.x.x * slope.y.y - slope.x.y * slope.y.x)
        let error = area.squareRoot() * catalogScale / queryScale * Double(match.catalog.scale / match.query.scale)
        guard error < Self.largestScaleError, error > 1 / Self.largestScaleError else { return false }
        let (old, new) = (Double(match.catalog.angle), Double(match.query.angle))
        let (x, y) = (
            slope.x.x * cos(old) + slope.y.x * sin(old), slope.x.y * cos(old) + slope.y.y * sin(old)
        )
        return x * cos(new) + y * sin(new) > Self.leastCosine * hypot(x, y)
    }

    /// Whether a point of the catalog image lies within the query.
    func isVisible(_ x: Double, _ y: Double, under homography: Homography) -> Bool {
        let from = centered(x, y)
        guard let place = homography.project(from.x, from.y) else { return false }
        return abs(place.x) <= query.width / 2 * queryScale && abs(place.y) <= query.height / 2 * queryScale
    }

    /// The share of the catalog image that lies within the query, of 100 points.
    func visibleShare(under homography: Homography) -> Float {
        let count = (0..<100).count {
            isVisible(
                (Double($0 % 10) + 0.5) / 10 * catalog.width, (Double($0 / 10) + 0.5) / 10 * catalog.height,
                under: homography)
        }
        return Float(count) / 100
    }

    /// The affine map that is nearest to a homography where matches are.
    func affine(_ homography: Homography, at matches: [FeatureMatch]) -> Homography? {
        let center = matches.reduce(.zero) { $0 + pair($1).from } / Double(matches.count)
        guard let place = homography.project(center.x, center.y) else { return nil }
        let slope = homography.derivative(at: center)
        let origin = SIMD2(place.x, place.y) - center.x * slope.x - center.y * slope.y
        return Homography(elements: [slope.x.x, slope.y.x, origin.x, slope.x.y, slope.y.y, origin.y, 0, 0, 1])
    }

    /// The corners of the catalog image in the query; nil for a mirrored, folded, tiny or squeezed shape, which no flat
    /// object has in a photograph.
    func outline(_ homography: Homography) -> Quadrilateral? {
        func corner(_ x: Double, _ y: Double) -> Quadrilateral.Point? {
            let from = centered(x, y)
            return homography.project(from.x, from.y).map {
                Quadrilateral.Point(
                    x: ($0.x / queryScale + query.width / 2) / query.width,
                    y: ($0.y / queryScale + query.height / 2) / query.height)
            }
        }
        guard let topLeft = corner(0, 0), let topRight = corner(catalog.width, 0),
            let bottomRight = corner(catalog.width, catalog.height), let bottomLeft = corner(0, catalog.height)
        else { return nil }
        let outline = Quadrilateral(
            topLeft: topLeft, topRight: topRight, bottomRight: bottomRight, bottomLeft: bottomLeft)
        guard outline.isConvex else { return nil }
        let corners = outline.corners.map { SIMD2($0.x * query.width, $0.y * query.height) }
        let edges = (0..<4).map { corners[($0 + 1) % 4] - corners[$0] }
        let turns = (0..<4).map { edges[$0].x * edges[($0 + 1) % 4].y - edges[$0].y * edges[($0 + 1) % 4].x }
        guard let least = turns.min(), let most = turns.max(), least >= 0.12 * most else { return nil }
        let area = outline.area * query.width * query.height
        func length(_ index: Int) -> Double { hypot(edges[index].x, edges[index].y) }
        let across = (length(0) + length(2)) / catalog.width, down = (length(1) + length(3)) / catalog.height
        guard area >= 300, across / down > 1 / 3, across / down < 3 else { return nil }
        return outline
    }
}

/// Where a query shows an image, and how many features agree on it.
public struct VerifiedOutline: Sendable, Hashable {
    /// The query's keypoints that the homography maps to within the tolerance, at most two per 25th of what is visible
    /// of the image.
    public let inliers: [Int]
    /// All of the query's keypoints that the homography maps to within the tolerance.
    package let explained: [Int]
    /// The features of the image that the homography maps to a match.
    public let supportCount: Int
    /// The features of the image that the homography maps into the query, ``supportCount`` among them.
    public let visibleCount: Int
    /// The features of the image that had a match.
    public let matchCount: Int
    /// The image's corners in the query, as fractions of the query's sides. Where a corner would be beyond the horizon,
    /// as of a square that is seen from above it, the affine map that is nearest at the inliers takes them there.
    public let outline: Quadrilateral

    /// The share of the visible features that support the homography, 0...1.
    public var share: Double { Double(supportCount) / Double(max(visibleCount, supportCount, 1)) }

    /// The number of matches that agree on the homography.
    public var inlierCount: Int { inliers.count }

    /// The same with the keypoints' numbers in the features that they were selected from.
    package func renumbered(_ numbers: [Int]) -> VerifiedOutline {
        VerifiedOutline(
            inliers: inliers.map { numbers[$0] }, explained: explained.map { numbers[$0] }, supportCount: supportCount,
            visibleCount: visibleCount,
            matchCount: matchCount, outline: outline)
    }
}
