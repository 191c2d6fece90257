import Compute
import Foundation
import Inference
import VectorSearch

/// Prints of images that are in nobody's catalog: they tell how much a query resembles things in general, and so how
/// near a match has to be.
///
/// One photograph of an aeroplane before a blue sky is near to every other; a record sleeve is near to nothing but
/// itself. A single distance for both takes aeroplanes for one another or loses sleeves in bad light. Score
/// normalization (Jégou et al., "Exploiting descriptor distances for precise image search", 2011; with background images
/// as in Pizzi et al., "A Self-Supervised Descriptor for Image Copy Detection", CVPR 2022) moves the limit with the mean
/// distance of the query to the nearest of them.
struct BackgroundPrints: Sendable {
    static let metadataKey = "lookalike.background"

    /// How a file describes them.
    private struct Description: Decodable {
        /// The tensor that holds the prints, a row each.
        let tensor: String
        /// How many of them, nearest first, are averaged over.
        let nearest: Int
        /// What the limit moves by as that mean moves by one.
        let weight: Double
        /// The mean at which the limit is the recommended distance itself.
        let typical_distance: Double
    }

    /// The name of the tensor.
    let tensor: String
    private let search: ExactSearch
    private let nearest: Int
    private let weight: Double
    private let typicalDistance: Double

    var count: Int { search.matrix.rowCount }

    /// Nil where the file has none.
    ///
    /// - Throws: `malformed` where their description is none; `unusableTensor` where the prints are no unit vectors
    ///   of the network's length.
    init?(of file: SafeTensorsFile, printLength: Int, tier: KernelTier) throws(ModelError.Reason) {
        guard let text = file.metadata[Self.metadataKey] else { return nil }
        let description: Description
        do {
            description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
        } catch {
            throw .malformed("its “\(Self.metadataKey)” is not what it should be (\(describe(error)))")
        }
        tensor = description.tensor
        guard let shape = file.shape(of: tensor) else { throw .unusableTensor(name: tensor, "is named by “\(Self.metadataKey)”, but not in the file") }
        let count = shape.first ?? 0
        guard count > 0 else { throw .unusableTensor(name: tensor, "has no prints") }
        guard (1...count).contains(description.nearest), (0...1).contains(description.weight), (0...2).contains(description.typical_distance)
        else {
            throw .malformed(
                "its “\(Self.metadataKey)” asks for the nearest \(description.nearest) of \(count), a weight of "
                    + "\(description.weight) and a distance of \(description.typical_distance); these are 1…\(count), 0…1 and 0…2")
        }
        let values = try file.floats(tensor, shape: [count, printLength])
        let matrix = PrintMatrix(values, dimension: printLength)
        // Half floats leave a length of one to within a thousandth.
        if let row = (0..<count).first(where: { abs(PrintMatrix.squaredNorm(matrix.row($0)) - 1) > 0.01 }) {
            throw .unusableTensor(name: tensor, "has a print that is not of length one, in row \(row)")
        }
        search = ExactSearch(matrix, tier: tier)
        (nearest, weight, typicalDistance) = (description.nearest, description.weight, description.typical_distance)
    }

    /// What to add to a limit for a query that these are the prints of. O(prints · background · length).
    func offset(forQuery prints: [[Float]]) -> Double {
        let found = search.nearest(toAnyOf: prints, k: nearest, threads: 1)
        let mean = found.reduce(0) { $0 + Double($1.distance) } / Double(found.count)
        return weight * (mean - typicalDistance)
    }
}
