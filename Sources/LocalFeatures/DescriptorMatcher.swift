import CKernels
import Compute

/// Matches the features of a query with the features of catalog images, by int8 dot products and the ratio test.
///
/// Lowe, section 7.1. The query's descriptors are quantized once and compared with the descriptors of many images.
struct DescriptorMatcher {
    /// Matches are kept where the nearest descriptor is this much nearer than the second nearest. Verification is
    /// robust to wrong matches, so this is more lenient than Lowe's 0.8.
    private static let largestRatio: Float = 0.9
    private static let quads = LocalFeatureModel.dimension / 4

    private let query: QueryFeatures
    private let kernels: SIMDTarget
    /// Components times their step, as int8.
    private let codes: [Int8]
    private let units: [Float]
    /// The squares of what the sixteen codes of each component stand for.
    private let squares: [Float]
    /// What the zero point of the codes, 7.5, adds to the dot products of each descriptor.
    private let offsets: [Int32]

    init(_ query: QueryFeatures, model: LocalFeatureModel, kernels: SIMDTarget) {
        (self.query, self.kernels) = (query, kernels)
        let dimension = LocalFeatureModel.dimension
        let quantizer = model.quantizer
        var scaled = query.descriptors
        for index in scaled.indices { scaled[index] *= quantizer.steps[index % dimension] }
        let quantized = scaled.withUnsafeBufferPointer {
            QuantizedComponents(of: $0, dimension: dimension, depth: dimension, kernels: kernels)
        }
        codes = quantized.codes
        units = quantized.quantizations.map(\.unit)
        offsets = quantized.quantizations.map { Int32((7.5 * Float($0.sum)).rounded()) }
        squares = (0..<dimension * 16).map { index in
            let value = quantizer.value(UInt8(index % 16), component: index / 16)
            return value * value
        }
    }

    /// The matches with an image, most distinctive first.
    ///
    /// O(query features · image features · dimension).
    func matches(with image: LocalFeatures) -> [FeatureMatch] {
        guard query.count > 0, image.count > 1 else { return [] }
        let dimension = LocalFeatureModel.dimension
        let groups = (image.count + 15) / 16
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * groups * 16 * dimension) { memory in
            let rows = UnsafeMutableBufferPointer(rebasing: memory[..<(groups * 16 * dimension)])
            let packed = UnsafeMutableBufferPointer(rebasing: memory[(groups * 16 * dimension)...])
            image.codes.withUnsafeBufferPointer { DescriptorQuantizer.unpack($0, into: rows) }
            let scales = inverseNorms(of: rows, count: image.count, padded: groups * 16)
            kernels.table.pack_quantized_rows(rows.baseAddress, dimension, image.count, dimension, packed.baseAddress)
            // One pass for any image of a catalog; a hostile one may claim 65,535 features.
            let rowsAtOnce = max(1, min(query.count, Self.productsAtOnce / (groups * 16)))
            return withUnsafeTemporaryAllocation(of: Int32.self, capacity: rowsAtOnce * groups * 16) { dots in
                var found: [FeatureMatch] = []
                for start in stride(from: 0, to: query.count, by: rowsAtOnce) {
                    let part = start..<min(start + rowsAtOnce, query.count)
                    codes.withUnsafeBufferPointer { codes in
                        kernels.table.quantized_products(
                            codes.baseAddress.map { $0 + start * dimension }, part.count, packed.baseAddress, groups,
                            Self.quads, dots.baseAddress)
                    }
                    for row in part {
                        let products = dots.baseAddress.map { $0 + (row - start) * groups * 16 }
                        if let match = match(of: row, products, scales, with: image) { found.append(match) }
                    }
                }
                return found.sorted { $0.ratio < $1.ratio }
            }
        }
    }

    private static let productsAtOnce = 1 << 20

    /// The match of a query's feature, given its dot products with the features of an image, by the ratio test.
    private func match(
        of row: Int, _ products: UnsafeMutablePointer<Int32>?, _ scales: [Float], with image: LocalFeatures
    ) -> FeatureMatch? {
        var two = lk_best_two()
        kernels.table.best_two(products, offsets[row], scales, scales.count, &two)
        // Squared distances of unit vectors from their dot products.
        let (nearest, second) = (2 - 2 * two.best * units[row], 2 - 2 * two.second * units[row])
        // The rows that pad the last group stand for no feature; what is nearest to one has no match.
        guard Int(two.row) < image.count, nearest < Self.largestRatio * Self.largestRatio * second else { return nil }
        return FeatureMatch(
            query: query.keypoints[row], queryIndex: row, catalog: image.keypoints[Int(two.row)],
            catalogIndex: Int(two.row), ratio: (max(nearest, 0) / second).squareRoot())
    }

    /// The inverse norms of the vectors that the codes stand for; 0 for the rows that pad the last group.
    private func inverseNorms(of rows: UnsafeMutableBufferPointer<UInt8>, count: Int, padded: Int) -> [Float] {
        let dimension = LocalFeatureModel.dimension
        return squares.withUnsafeBufferPointer { squares in
            (0..<padded).map { row in
                guard row < count else { return 0 }
                var sum: Float = 1e-20
                for index in 0..<dimension { sum += squares[index * 16 + Int(rows[row * dimension + index])] }
                return 1 / sum.squareRoot()
            }
        }
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
