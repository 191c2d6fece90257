import CKernels
package import Compute
import FeaturePrints
package import Imaging

/// Descriptors of the most reliable cells of an image's feature map.
///
/// Keypoints agree if both images show the same flat picture. A building from another side, or a toy that was turned,
/// keeps few of them, while many cells of a feature map still resemble each other. The network is that of XFeat without
/// its keypoints (G. Potje et al., "XFeat: Accelerated Features for Lightweight Image Matching", CVPR 2024). It sees an
/// image upright, stretched to its input.
public struct DenseDescriptors: Sendable, Equatable {
    /// The components of a descriptor, which are int8: the unit vector times 127.
    static let dimension = 24
    /// The most descriptors of an image.
    static let mostCount = 255
    /// The least cosine of two descriptors that match. Fitted to `validation-depth`; 0.8 and 0.85 find as many.
    private static let leastCosine: Float = 0.83
    private static let scale: Float = 127

    /// One descriptor after another, the most reliable first.
    package let components: [Int8]

    /// The number of descriptors.
    public var count: Int { components.count / Self.dimension }

    /// No descriptors, as in a model without a network for them.
    static let none = DenseDescriptors(components: [])

    /// - Precondition: the components are whole descriptors, at most ``mostCount``.
    init(components: [Int8]) {
        precondition(components.count % Self.dimension == 0 && components.count <= Self.mostCount * Self.dimension)
        self.components = components
    }

    /// The descriptors of the most reliable cells of a map.
    ///
    /// - Parameter map: planes of as many cells each: one per component, then their reliability. Only ratios count.
    package init(map: [Float]) {
        let cells = map.count / (Self.dimension + 1)
        let reliability = map[(Self.dimension * cells)...]
        let best = (0..<cells).sorted {
            (reliability[reliability.startIndex + $1], $0) < (reliability[reliability.startIndex + $0], $1)
        }
        components = best.prefix(Self.mostCount).flatMap { cell in
            let vector = (0..<Self.dimension).map { map[$0 * cells + cell] }
            let norm = vector.reduce(1e-20) { $0 + $1 * $1 }.squareRoot()
            return vector.map { Int8(($0 / norm * Self.scale).rounded()) }
        }
    }

    /// The number of descriptors that are the nearest ones of each other and resemble each other.
    ///
    /// - Complexity: O(count · other.count).
    package func matchCount(with other: DenseDescriptors, kernels: SIMDTarget = .selected) -> Int {
        let (rows, columns) = (components.map(Float.init), other.components.map(Float.init))
        var products = [Float](repeating: 0, count: other.count)
        var nearest = [(column: Int, product: Float)](repeating: (0, -.infinity), count: count)
        var nearestRow = [(row: Int, product: Float)](repeating: (0, -.infinity), count: other.count)
        for row in 0..<count {
            rows.withUnsafeBufferPointer { rows in
                kernels.table.dot_products(
                    rows.baseAddress! + row * Self.dimension, columns, Self.dimension, other.count, Self.dimension,
                    &products)
            }
            for (column, product) in products.enumerated() {
                if product > nearest[row].product { nearest[row] = (column, product) }
                if product > nearestRow[column].product { nearestRow[column] = (row, product) }
            }
        }
        let least = Self.leastCosine * Self.scale * Self.scale
        return nearest.enumerated().count { row, match in
            match.product >= least && nearestRow[match.column].row == row
        }
    }
}

extension LocalFeatureModel {
    /// The dense descriptors of an image; none if the model has no network for them.
    ///
    /// - Complexity: a forward pass.
    package func denseDescriptors(of image: PixelBuffer) -> DenseDescriptors {
        // An output without direction, as of weights that are zero, describes nothing.
        guard let print = try? denseNetwork?.featurePrint(for: image) else { return .none }
        return DenseDescriptors(map: print.vector)
    }
}
