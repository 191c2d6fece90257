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

    /// The descriptors of the most reliable cells of a map; none if one of its numbers is not finite.
    ///
    /// - Parameter map: planes of as many cells each: one per component, then their reliability. Only ratios count.
    package init(map: [Float]) {
        let cells = map.count / (Self.dimension + 1)
        let reliability = map[(Self.dimension * cells)...]
        guard reliability.allSatisfy(\.isFinite) else {
            components = []
            return
        }
        // Numbers are sorted faster than cells by a closure: the bits of a float, descending, and those of its cell.
        let order = reliability.enumerated().map { cell, value in
            let bits = (value + 0).bitPattern
            return UInt64(bits >> 31 == 0 ? 0x7FFF_FFFF - bits : bits) << 32 | UInt64(cell)
        }.sorted()
        let best = order.prefix(Self.mostCount).map { Int($0 & 0xFFFF_FFFF) }
        var components: [Int8] = []
        components.reserveCapacity(Self.mostCount * Self.dimension)
        for cell in best {
            var squares: Float = 1e-20
            for index in 0..<Self.dimension { squares += map[index * cells + cell] * map[index * cells + cell] }
            guard squares.isFinite else {
                self.components = []
                return
            }
            let norm = squares.squareRoot()
            for index in 0..<Self.dimension {
                components.append(Int8((map[index * cells + cell] / norm * Self.scale).rounded()))
            }
        }
        self.components = components
    }

    /// The number of descriptors that are the nearest ones of each other and resemble each other.
    ///
    /// - Complexity: O(count · other.count).
    package func matchCount(with other: DenseDescriptors, kernels: SIMDTarget = .selected) -> Int {
        guard count > 0, other.count > 0 else { return 0 }
        let (own, others) = (nearest(in: other, kernels: kernels), other.nearest(in: self, kernels: kernels))
        let least = Self.leastCosine * Self.scale * Self.scale
        return own.enumerated().count { place, match in
            match.best >= least && Int(match.row) < other.count && Int(others[Int(match.row)].row) == place
        }
    }

    /// The nearest descriptor of another image for each: its number and the dot product. The first of equal ones.
    private func nearest(in other: DenseDescriptors, kernels: SIMDTarget) -> [lk_best_two] {
        let width = (other.count + 15) / 16 * 16
        // The kernel multiplies int8 by unsigned numbers.
        let zero: UInt8 = 128
        let rows = other.components.map { UInt8(bitPattern: $0) ^ zero }
        // The rows that pad the last group have the product 0, which is no match.
        let scales = (0..<width).map { $0 < other.count ? Float(1) : 0 }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: width * Self.dimension) { packed in
            kernels.table.pack_quantized_rows(
                rows, Self.dimension, other.count, Self.dimension, packed.baseAddress)
            return withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * width) { products in
                kernels.table.quantized_products(
                    components, count, packed.baseAddress, width / 16, Self.dimension / 4, products.baseAddress)
                return (0..<count).map { row in
                    let own = components[(row * Self.dimension)..<((row + 1) * Self.dimension)]
                    let offset = own.reduce(0) { $0 + Int32($1) } * Int32(zero)
                    var found = lk_best_two()
                    kernels.table.best_two(
                        products.baseAddress.map { $0 + row * width }, offset, scales, width, &found)
                    return found
                }
            }
        }
    }
}

extension LocalFeatureModel {
    /// The dense descriptors of an image; none if the model has no network for them.
    ///
    /// - Complexity: a forward pass.
    package func denseDescriptors(of image: PixelBuffer) -> DenseDescriptors {
        denseNetwork.map { DenseDescriptors(map: $0.output(for: image)) } ?? .none
    }
}
