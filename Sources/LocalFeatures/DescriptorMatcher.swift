import CKernels
import Compute

/// Matches the features of a query with the features of catalog images, by int8 dot products.
///
/// Geometry decides which of the features that are nearest to each other are right. The ratio test (Lowe, section 7.1)
/// orders them, and finds the features that the image repeats. The query's descriptors are quantized once and compared
/// with the descriptors of many images.
struct DescriptorMatcher {
    /// Features are distinctive where the nearest descriptor is this much nearer than the second nearest.
    private static let largestRatio: Float = 0.9
    /// Squared distances of descriptors that surely show the same. If several are that near, the feature is repeated.
    private static let repeatedDistance: Float = 0.2
    private static let quads = LocalFeatureModel.dimension / 4

    private let query: QueryFeatures
    private let kernels: SIMDTarget
    private let vocabulary: Vocabulary
    /// Components as int8.
    private let codes: [Int8]
    private let units: [Float]
    /// What the zero point of the catalog's descriptors adds to the dot products of each descriptor.
    private let offsets: [Int32]

    init(_ query: QueryFeatures, model: LocalFeatureModel, kernels: SIMDTarget) {
        (self.query, self.kernels, vocabulary) = (query, kernels, model.vocabulary)
        let quantized = query.descriptors.withUnsafeBufferPointer { QuantizedComponents(of: $0, kernels: kernels) }
        codes = quantized.codes
        units = quantized.quantizations.map(\.unit)
        offsets = quantized.quantizations.map { [zero = Int32(model.vocabulary.zero)] in $0.sum * zero }
    }

    /// The matches with an image, and those with features that the image repeats.
    ///
    /// O(query features · image features · dimension).
    func matches(with image: LocalFeatures) -> FeatureMatches {
        guard query.count > 0, image.count > 1 else { return FeatureMatches() }
        let dimension = LocalFeatureModel.dimension
        let groups = (image.count + 15) / 16
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * groups * 16 * dimension) { memory in
            let rows = UnsafeMutableBufferPointer(rebasing: memory[..<(groups * 16 * dimension)])
            let packed = UnsafeMutableBufferPointer(rebasing: memory[(groups * 16 * dimension)...])
            // The rows that pad the last group have the product 0.
            let scales =
                vocabulary.restore(image.codes, words: image.words, into: rows)
                + Array(repeating: 0, count: groups * 16 - image.count)
            kernels.table.pack_quantized_rows(rows.baseAddress, dimension, image.count, dimension, packed.baseAddress)
            // One pass for any image of a catalog; a hostile one may claim 65,535 features.
            let rowsAtOnce = max(1, min(query.count, Self.productsAtOnce / (groups * 16)))
            return withUnsafeTemporaryAllocation(of: Int32.self, capacity: rowsAtOnce * groups * 16) { dots in
                var found = FeatureMatches()
                var nearest = [Nearest](repeating: Nearest(), count: image.count)
                for start in stride(from: 0, to: query.count, by: rowsAtOnce) {
                    let part = start..<min(start + rowsAtOnce, query.count)
                    codes.withUnsafeBufferPointer { codes in
                        kernels.table.quantized_products(
                            codes.baseAddress.map { $0 + start * dimension }, part.count, packed.baseAddress, groups,
                            Self.quads, dots.baseAddress)
                    }
                    for row in part {
                        let products = dots.baseAddress.map { $0 + (row - start) * groups * 16 }
                        addMatches(of: row, products, scales, with: image, to: &found, &nearest)
                    }
                }
                found.distinctive.sort { $0.ratio < $1.ratio }
                found.mutual = nearest.indices.filter { nearest[$0].row >= 0 }
                    .map { match(nearest[$0].row, $0, ratio: nearest[$0].ratio, in: image) }
                    .sorted { $0.ratio < $1.ratio }
                return found
            }
        }
    }

    private static let productsAtOnce = 1 << 20

    /// The query's feature that is nearest to one of the image.
    private struct Nearest {
        var distance = Float.infinity
        var row = -1
        var ratio: Float = 1
    }

    private func match(_ row: Int, _ place: Int, ratio: Float, in image: LocalFeatures) -> FeatureMatch {
        FeatureMatch(
            query: query.keypoints[row], queryIndex: row, catalog: image.keypoints[place], catalogIndex: place,
            ratio: ratio)
    }

    /// Adds the matches of a query's feature, given its dot products with the features of an image.
    private func addMatches(
        of row: Int, _ products: UnsafeMutablePointer<Int32>?, _ scales: [Float], with image: LocalFeatures,
        to found: inout FeatureMatches, _ nearestOfImage: inout [Nearest]
    ) {
        var two = lk_best_two()
        kernels.table.best_two(products, offsets[row], scales, scales.count, &two)
        // Squared distances of unit vectors from their dot products.
        let (nearest, second) = (2 - 2 * two.best * units[row], 2 - 2 * two.second * units[row])
        // The rows that pad the last group stand for no feature; what is nearest to one has no match.
        let place = Int(two.row)
        guard place < image.count else { return }
        let ratio = min(max(nearest, 0) / max(second, 1e-6), 1).squareRoot()
        if nearest < nearestOfImage[place].distance {
            nearestOfImage[place] = Nearest(distance: nearest, row: row, ratio: ratio)
        }
        let square = Self.largestRatio * Self.largestRatio
        if nearest < square * second {
            found.distinctive.append(match(row, place, ratio: ratio, in: image))
        } else if nearest < Self.repeatedDistance, let products {
            found.repeatedCount += 1
            for place in 0..<image.count {
                let distance = 2 - 2 * Float(products[place] - offsets[row]) * scales[place] * units[row]
                // At most the ratio 1: the ratio test does not tell it from the nearest one.
                if distance * square <= max(nearest, 1e-3) {
                    found.repeated.append(match(row, place, ratio: 1, in: image))
                }
            }
        }
    }
}

/// The matches of a query's features with those of an image.
struct FeatureMatches {
    /// The features that are nearest to each other, most distinctive first.
    var mutual: [FeatureMatch] = []
    /// A match per feature that passes the ratio test, most distinctive first.
    var distinctive: [FeatureMatch] = []
    /// All matches of the features that the image repeats: which of them are right, geometry decides.
    var repeated: [FeatureMatch] = []
    /// The number of the query's features with repeated matches.
    var repeatedCount = 0

    /// Features of a pattern are repeated this often, and there are more of them than distinctive ones.
    private static let fewestRepeated = 30
    private static let leastRepetition = 4

    /// Whether the image is a pattern that repeats: a fabric, a wallpaper.
    var showPattern: Bool {
        repeatedCount >= Self.fewestRepeated && repeatedCount >= 2 * distinctive.count
            && repeated.count >= Self.leastRepetition * repeatedCount
    }
}

/// A keypoint of a query and the keypoint of a catalog image with the nearest descriptor.
struct FeatureMatch: Sendable, Hashable {
    let query: Keypoint
    /// The number of the query's keypoint.
    let queryIndex: Int
    let catalog: Keypoint
    /// The number of the catalog image's keypoint.
    let catalogIndex: Int
    /// The distance to the nearest descriptor over that to the second nearest; lower is more distinctive.
    let ratio: Float
}
