import CKernels
import Compute
import Inference

/// Visual words: cluster centers of projected descriptors, in two levels.
///
/// A descriptor is compared with the coarse centers first, and then with the words of the nearest ones alone.
/// D. Nistér and H. Stewénius, "Scalable Recognition with a Vocabulary Tree", CVPR 2006. Centers are int8, so that
/// sixteen of them are compared at a time.
struct Vocabulary: Sendable {
    /// Coarse centers whose words are compared. More find the nearest words more often and cost more; the nearest word
    /// alone is in one of the first three groups in most cases.
    private static func groupsCompared(count: Int) -> Int { count == 1 ? 3 : 5 }

    let groupCount: Int
    let wordsPerGroup: Int
    var wordCount: Int { groupCount * wordsPerGroup }

    private let coarse: PackedCenters
    private let groups: [PackedCenters]
    /// The centers of all words, row by row, in units of `unit` above `zero`.
    private let centers: [UInt8]
    /// Components that centers have: the first of a descriptor.
    private let depth: Int
    private let unit: Float
    private let zero: Int

    init(of file: SafeTensorsFile, unit: Float, zero: Int, kernels: SIMDTarget) throws(ModelError.Reason) {
        guard let shape = file.shape(of: "coarse"), let wordShape = file.shape(of: "words"), shape.count == 2,
            wordShape.count == 2, shape[0] > 0, shape[0] % 16 == 0, shape[1] > 0, shape[1] % 4 == 0,
            shape[1] <= LocalFeatureModel.dimension, wordShape[1] == shape[1], wordShape[0] % (16 * shape[0]) == 0,
            wordShape[0] > 0, wordShape[0] <= 1 << 16
        else { throw .malformed("its vocabulary needs tensors “coarse” [16 n][d] and “words” [256 n m][d]") }
        let (groupCount, depth) = (shape[0], shape[1])
        let wordsPerGroup = wordShape[0] / groupCount
        (self.groupCount, self.depth, self.wordsPerGroup, self.unit, self.zero) = (
            groupCount, depth, wordsPerGroup, unit, zero
        )
        let coarseCenters = try file.bytes("coarse", shape: shape)
        centers = try file.bytes("words", shape: wordShape)
        coarse = PackedCenters(coarseCenters[...], depth: depth, unit: unit, zero: zero, kernels: kernels)
        let all = centers
        groups = (0..<groupCount).map { group in
            PackedCenters(
                all[(group * wordsPerGroup * depth)..<((group + 1) * wordsPerGroup * depth)], depth: depth, unit: unit,
                zero: zero, kernels: kernels)
        }
    }

    /// The `count` nearest words of each of several descriptors, nearest first.
    ///
    /// O(descriptors · (groups + 5 · words per group) · d).
    func words(of descriptors: UnsafeBufferPointer<Float>, count: Int) -> [UInt16] {
        let dimension = LocalFeatureModel.dimension
        var nearest: [UInt16] = []
        nearest.reserveCapacity(descriptors.count / dimension * count)
        var groupsFound = NearestCenters(count: Self.groupsCompared(count: count))
        var wordsFound = NearestCenters(count: count)
        var query = QuantizedComponents(count: depth)
        for start in stride(from: 0, to: descriptors.count, by: dimension) {
            query.set(descriptors[start..<(start + depth)], zero: zero)
            groupsFound.removeAll()
            coarse.offer(query, first: 0, to: &groupsFound)
            wordsFound.removeAll()
            for group in groupsFound.indices {
                groups[group].offer(query, first: group * wordsPerGroup, to: &wordsFound)
            }
            for word in wordsFound.indices { nearest.append(UInt16(truncatingIfNeeded: word)) }
        }
        return nearest
    }

    /// On which side of a word's center each component of a descriptor lies, one bit each: the Hamming embedding.
    ///
    /// H. Jégou, M. Douze and C. Schmid, "Hamming Embedding and Weak Geometric Consistency", ECCV 2008, without their
    /// random rotation: the components are uncorrelated already. Components beyond a center's are compared with zero.
    func signature(of descriptor: SignatureSource, word: UInt16) -> UInt64 {
        var bits: UInt64 = 0
        let center = Int(word) * depth
        centers.withUnsafeBufferPointer { centers in
            descriptor.limits.withUnsafeBufferPointer { limits in
                for index in 0..<depth { bits |= (limits[index] > centers[center + index] ? 1 : 0) << UInt64(index) }
            }
        }
        return bits | descriptor.fixedBits
    }

    /// What signatures of a descriptor are made of, for any word.
    struct SignatureSource {
        /// A center with a smaller code is below the descriptor.
        fileprivate let limits: [UInt8]
        /// The bits of components that centers do not have.
        fileprivate let fixedBits: UInt64
    }

    func signatureSource(_ descriptor: UnsafeBufferPointer<Float>) -> SignatureSource {
        var bits: UInt64 = 0
        for index in depth..<LocalFeatureModel.dimension where descriptor[index] > 0 { bits |= 1 << UInt64(index) }
        return SignatureSource(
            limits: (0..<depth).map { UInt8(min(max((descriptor[$0] / unit + Float(zero)).rounded(.up), 0), 255)) },
            fixedBits: bits)
    }
}
