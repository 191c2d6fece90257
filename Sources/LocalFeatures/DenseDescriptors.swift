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
package struct DenseDescriptors: Sendable {
    /// The components of a descriptor, which are int8: the unit vector times 127.
    static let dimension = 24
    /// The most descriptors of an image.
    static let mostCount = 255
    /// The least cosine of two descriptors that match, one of which was stored. Fitted to `validation-depth`, where
    /// those of 0.81 and 0.82 find as many.
    private static let leastCosine: Float = 0.83
    fileprivate static let scale: Float = 127

    /// One descriptor after another, the most reliable first.
    package let components: [Int8]
    private let quantizer: DenseQuantizer

    /// The number of descriptors.
    package var count: Int { components.count / Self.dimension }

    /// No descriptors, as in a model without a network for them.
    static let none = DenseDescriptors(map: [], quantizer: DenseQuantizer([]))

    /// What a catalog keeps of them, 64 bits each.
    package var codes: [UInt64] { (0..<count).map { quantizer.code(of: components[($0 * Self.dimension)...]) } }

    /// The descriptors that a catalog keeps as codes.
    init(_ codes: [UInt64], quantizer: DenseQuantizer) {
        (components, self.quantizer) = (quantizer.components(of: codes), quantizer)
    }

    /// The descriptors of the most reliable cells of a map; none if one of its numbers is not finite.
    ///
    /// - Parameter map: planes of as many cells each: one per component, then their reliability. Only ratios count.
    package init(map: [Float], quantizer: DenseQuantizer) {
        self.quantizer = quantizer
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
    /// - Parameter codes: those of a catalog image of the same model.
    /// - Complexity: O(count · codes.count).
    package func matchCount(with codes: [UInt64], kernels: SIMDTarget = .selected) -> Int {
        guard count > 0, !codes.isEmpty else { return 0 }
        let stored = quantizer.components(of: codes)
        let own = Self.nearest(to: components, in: stored, kernels: kernels)
        let others = Self.nearest(to: stored, in: components, kernels: kernels)
        let least = Self.leastCosine * Self.scale * Self.scale
        return own.enumerated().count { place, match in
            match.best >= least && Int(match.row) < codes.count && Int(others[Int(match.row)].row) == place
        }
    }

    /// The nearest descriptor of another image for each of one: its number and the dot product. The first of equals.
    private static func nearest(to components: [Int8], in other: [Int8], kernels: SIMDTarget) -> [lk_best_two] {
        let (count, otherCount) = (components.count / dimension, other.count / dimension)
        let width = (otherCount + 15) / 16 * 16
        // The kernel multiplies int8 by unsigned numbers.
        let zero: UInt8 = 128
        let rows = other.map { UInt8(bitPattern: $0) ^ zero }
        // The rows that pad the last group have the product 0, which is no match.
        let scales = (0..<width).map { $0 < otherCount ? Float(1) : 0 }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: width * dimension) { packed in
            kernels.table.pack_quantized_rows(rows, dimension, otherCount, dimension, packed.baseAddress)
            return withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * width) { products in
                kernels.table.quantized_products(
                    components, count, packed.baseAddress, width / 16, dimension / 4, products.baseAddress)
                return (0..<count).map { row in
                    let own = components[(row * dimension)..<((row + 1) * dimension)]
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

/// Quantizes dense descriptors to 64 bits: 3 for each of the components 1 to 18, from the lowest bits on, and 2 for
/// each of the others.
///
/// The highest bit of a component is its sign, and the others are the place of its level (``LloydMaxQuantizer``). The
/// first component is not stored: it is positive nearly always, and follows from the length of a unit vector.
package struct DenseQuantizer: Sendable {
    private static let fineCount = 18
    private static let largestCodeCount = 8
    /// Where the bits of each stored component are in a code, and the bit of its sign.
    private static let places = (1..<DenseDescriptors.dimension).map { index in
        let (fine, coarse) = (min(index - 1, fineCount), max(index - 1 - fineCount, 0))
        return (index: index, shift: UInt64(3 * fine + 2 * coarse), sign: UInt64(index <= fineCount ? 4 : 2))
    }

    private let deviations: [Float]
    /// What each code of each component stands for, times 127.
    private let values: [Int8]

    /// - Parameter deviations: the standard deviation of each component of unit vectors.
    package init(_ deviations: [Float]) {
        self.deviations = deviations
        values = deviations.enumerated().flatMap { index, deviation in
            let positive = Self.quantizer(of: index).levels.map { level in
                Int8(min(level * deviation * DenseDescriptors.scale, DenseDescriptors.scale).rounded())
            }
            let both = positive + positive.map { -$0 }
            return both + Array(repeating: 0, count: Self.largestCodeCount - both.count)
        }
    }

    private static func quantizer(of component: Int) -> LloydMaxQuantizer {
        component <= fineCount ? .threeBits : .twoBits
    }

    /// - Parameter components: those of a descriptor, and any after them.
    func code(of components: ArraySlice<Int8>) -> UInt64 {
        zip(Self.places, components.dropFirst()).reduce(0) { code, next in
            let (place, value) = (next.0, Float(next.1) / DenseDescriptors.scale)
            let level = UInt64(Self.quantizer(of: place.index).level(of: value / deviations[place.index]))
            return code | (value < 0 ? place.sign | level : level) << place.shift
        }
    }

    /// The components that codes stand for, descriptor after descriptor.
    func components(of codes: [UInt64]) -> [Int8] {
        let dimension = DenseDescriptors.dimension
        var components = [Int8](repeating: 0, count: codes.count * dimension)
        for (row, code) in codes.enumerated() {
            var squares: Int32 = 0
            for place in Self.places {
                let number = Int(code >> place.shift & (2 * place.sign - 1))
                let value = values[place.index * Self.largestCodeCount + number]
                components[row * dimension + place.index] = value
                squares += Int32(value) * Int32(value)
            }
            let length = DenseDescriptors.scale * DenseDescriptors.scale
            components[row * dimension] = Int8(max(length - Float(squares), 0).squareRoot().rounded())
        }
        return components
    }
}

extension LocalFeatureModel {
    /// The dense descriptors of an image; none if the model has no network for them.
    ///
    /// - Complexity: a forward pass.
    package func denseDescriptors(of image: PixelBuffer) -> DenseDescriptors {
        dense.map { DenseDescriptors(map: $0.network.output(for: image), quantizer: $0.quantizer) } ?? .none
    }

    /// The dense descriptors that a catalog keeps as codes; none if the model has no network for them.
    package func denseDescriptors(storedAs codes: [UInt64]) -> DenseDescriptors {
        dense.map { DenseDescriptors(codes, quantizer: $0.quantizer) } ?? .none
    }
}
