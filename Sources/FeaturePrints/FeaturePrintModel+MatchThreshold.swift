import Compute
import Inference
import VectorSearch

extension FeaturePrintModel {
    /// The match threshold for a query, given the prints of its crops. The distance of a match is its minimum distance
    /// to them.
    ///
    /// The threshold is ``matchThreshold``, moved by score normalization if the file has a background set: lower for a
    /// query that resembles many images, higher for one that resembles none. For no prints it is ``matchThreshold``.
    ///
    /// - Parameter neighbors: the distances of the nearest entities of the catalog that is searched, ascending;
    ///   ``catalogNeighborCount`` of them are enough. They count like prints of the background set, so that the
    ///   threshold is lower in a catalog with much that resembles the query, and in one of few entities.
    /// - Returns: a distance in 0...2; nil if the file has no threshold.
    /// - Precondition: the prints were made with this model; see ``check(_:)``.
    /// - Complexity: O(prints · background set · dimension); 0.1 ms for four prints and the default model's 3,584.
    public func matchThreshold(for prints: [FeaturePrint], beside neighbors: [Double] = []) -> Double? {
        require(prints.allSatisfy { $0.model == identity }, "the prints were made with another model")
        guard let matchThreshold, let scoreNormalization, !prints.isEmpty else { return matchThreshold }
        return min(max(matchThreshold + scoreNormalization.offset(for: prints.map(\.vector), beside: neighbors), 0), 2)
    }

    /// The mean distance that score normalization moves the threshold by; 0 without a background set.
    package func neighborDistance(for prints: [FeaturePrint], beside neighbors: [Double]) -> Double {
        scoreNormalization?.meanDistance(to: prints.map(\.vector), beside: neighbors) ?? 0
    }

    /// The neighbors in a catalog that can count for a match threshold.
    public var catalogNeighborCount: Int { scoreNormalization?.catalogNeighborCount ?? 0 }

    /// The size of the background set that score normalization compares a query with; 0 without one.
    public var backgroundSetCount: Int { scoreNormalization?.count ?? 0 }
}

/// Moves the match threshold with the mean distance of a query to its nearest neighbors in a background set, and in the
/// catalog that is searched. The nearest few are skipped: they may be what the query shows.
///
/// A photograph of an airplane in a blue sky is close to every other one; a record sleeve is close only to itself. One
/// threshold for both confuses airplanes, or misses sleeves in bad light. Jégou et al., "Exploiting descriptor
/// distances for precise image search", 2011; with background images as in Pizzi et al., "A Self-Supervised Descriptor
/// for Image Copy Detection", CVPR 2022.
struct ScoreNormalization: Sendable {
    static let metadataKey = "lookalike.background"

    /// The JSON in a file's metadata.
    struct Description: Decodable {
        /// The tensor with the prints of the background set, one per row.
        let tensor: String
        /// How many nearest neighbors are averaged.
        let nearest: Int
        /// How many that are nearer are not.
        let skipped: Int?
        /// The change of the threshold per unit of their mean distance.
        let weight: Double
        /// The mean distance at which the threshold does not move.
        let typical_distance: Double

        /// Nil if the file has no background set.
        ///
        /// - Throws: `malformed` if the description is unusable.
        init?(of file: SafeTensorsFile) throws(ModelError.Reason) {
            guard let description = try file.decoded(Self.self, from: metadataKey) else { return nil }
            self = description
        }
    }

    private let search: ExactSearch
    private let nearest: Int
    private let skipped: Int
    private let weight: Double
    private let typicalDistance: Double
    private let tensor: String

    var count: Int { search.matrix.rowCount }

    /// ``check(dimension:)`` has to follow.
    ///
    /// - Throws: `malformed` if a value of the description is out of range; `unusableTensor` if there are no prints.
    init(_ description: Description, of file: SafeTensorsFile, simd: SIMDTarget) throws(ModelError.Reason) {
        let tensor = description.tensor
        guard let shape = file.shape(of: tensor) else {
            throw .unusableTensor(name: tensor, "is named by “\(Self.metadataKey)”, but missing from the file")
        }
        guard shape.first != 0 else { throw .unusableTensor(name: tensor, "has no prints") }
        guard shape.count == 2, shape[1] > 0 else {
            throw .unusableTensor(name: tensor, "has the shape \(shape), which is not that of prints")
        }
        let (count, dimension) = (shape[0], shape[1])
        let skipped = description.skipped ?? 0
        guard (1...count).contains(description.nearest), (0...count - description.nearest).contains(skipped),
            (0...2).contains(description.weight), (0...2).contains(description.typical_distance)
        else {
            throw .malformed(
                "the metadata “\(Self.metadataKey)” has nearest = \(description.nearest) and skipped = \(skipped) of "
                    + "\(count) rows, weight = \(description.weight) and typical_distance = "
                    + "\(description.typical_distance); nearest is at least 1, both together at most \(count), and the "
                    + "others lie in 0…2")
        }
        let matrix =
            if let halves = try file.halves(tensor, shape: shape) {
                PrintMatrix(halves: halves, dimension: dimension)
            } else {
                PrintMatrix(try file.floats(tensor, shape: shape), dimension: dimension)
            }
        self.tensor = tensor
        search = ExactSearch(matrix, simd: simd)
        (nearest, self.skipped) = (description.nearest, skipped)
        (weight, typicalDistance) = (description.weight, description.typical_distance)
    }

    /// - Throws: `unusableTensor` if the prints are not unit vectors of the network's output dimension.
    func check(dimension: Int) throws(ModelError.Reason) {
        let matrix = search.matrix
        guard matrix.dimension == dimension else {
            throw .unusableTensor(
                name: tensor,
                "has the shape [\(count), \(matrix.dimension)], but the graph needs [\(count), \(dimension)]")
        }
        // Half-precision components leave a norm of 1 to within a thousandth.
        if let row = (0..<count).first(where: { abs(matrix.squaredNorm(ofRow: $0) - 1) > 0.01 }) {
            throw .unusableTensor(name: tensor, "has a print whose norm is not 1, in row \(row)")
        }
    }

    /// Copies of one image have about the same distance, and count once.
    private static let leastDifference = 0.001
    /// A catalog with fewer entities than are averaged does not show how far others of its kind are. Drawings of one
    /// style (`calibration_sets.py`) are 0.5 to 0.8 apart, nearer than photographs of the background.
    private static let distanceOfOneKind = 0.65
    /// Room for copies.
    var catalogNeighborCount: Int { 3 * (skipped + nearest) }

    /// The offset of the threshold for a query with these prints. O(prints · background set · dimension).
    func offset(for prints: [[Float]], beside neighbors: [Double]) -> Double {
        weight * (meanDistance(to: prints, beside: neighbors) - typicalDistance)
    }

    /// The mean distance of the neighbors that are averaged.
    func meanDistance(to prints: [[Float]], beside neighbors: [Double]) -> Double {
        var distances: [Double] = []
        for distance in neighbors.prefix(catalogNeighborCount)
        where distances.last.map({ distance - $0 >= Self.leastDifference }) ?? true {
            distances.append(distance)
        }
        if !neighbors.isEmpty, neighbors.count < skipped + nearest {
            distances += Array(repeating: Self.distanceOfOneKind, count: skipped + nearest - distances.count)
        }
        distances += search.nearest(toAnyOf: prints, k: skipped + nearest, threads: 1).map { Double($0.distance) }
        let averaged = distances.sorted()[skipped..<(skipped + nearest)]
        return averaged.reduce(0, +) / Double(nearest)
    }
}
