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
    private let unit: Float
    let zero: Int
    private let quantizer: ResidualQuantizer
    private let kernels: SIMDTarget
    private static let depth = LocalFeatureModel.dimension

    /// - Parameter deviations: the standard deviation of each component from the centers of the words.
    init(
        of file: SafeTensorsFile, unit: Float, zero: Int, deviations: [Float], kernels: SIMDTarget
    ) throws(ModelError.Reason) {
        guard let shape = file.shape(of: "coarse"), let wordShape = file.shape(of: "words"), shape.count == 2,
            wordShape.count == 2, shape[0] > 0, shape[0] % 16 == 0, shape[1] == Self.depth, wordShape[1] == Self.depth,
            wordShape[0] % (16 * shape[0]) == 0, wordShape[0] > 0, wordShape[0] <= 1 << 16
        else { throw .malformed("its vocabulary needs tensors “coarse” [16 n][64] and “words” [256 n m][64]") }
        let groupCount = shape[0]
        let wordsPerGroup = wordShape[0] / groupCount
        (self.groupCount, self.wordsPerGroup, self.unit, self.zero) = (groupCount, wordsPerGroup, unit, zero)
        quantizer = ResidualQuantizer(deviations, unit: unit)
        self.kernels = kernels
        let coarseCenters = try file.bytes("coarse", shape: shape)
        centers = try file.bytes("words", shape: wordShape)
        coarse = PackedCenters(coarseCenters[...], unit: unit, zero: zero, kernels: kernels)
        groups = concurrentMap(groupCount, threads: availableThreadCount) { [centers] group in
            PackedCenters(
                centers[(group * wordsPerGroup * Self.depth)..<((group + 1) * wordsPerGroup * Self.depth)],
                unit: unit, zero: zero, kernels: kernels)
        }
    }

    /// The `count` nearest words of each of several descriptors, nearest first.
    ///
    /// The descriptors that are compared with a group are compared together, so that its words are read once.
    /// O(descriptors · (groups + 5 · words per group) · d).
    ///
    /// - Precondition: `count` is at most eight.
    func words(of descriptors: UnsafeBufferPointer<Float>, count: Int) -> [UInt16] {
        let queries = QuantizedComponents(of: descriptors, kernels: kernels)
        let rows = queries.quantizations.indices
        var found = rows.map { _ in lk_nearest_centers(capacity: Self.groupsCompared(count: count)) }
        found.withUnsafeMutableBufferPointer {
            coarse.offer(queries, rows: rows.map(Int32.init)[...], first: 0, to: $0)
        }
        let members = Members(of: found, groupCount: groupCount)
        found = rows.map { _ in lk_nearest_centers(capacity: count) }
        found.withUnsafeMutableBufferPointer { found in
            for group in 0..<groupCount {
                groups[group].offer(queries, rows: members[group], first: group * wordsPerGroup, to: found)
            }
        }
        var words: [UInt16] = []
        words.reserveCapacity(rows.count * count)
        for nearest in found { nearest.forEachIndex { words.append(UInt16(truncatingIfNeeded: $0)) } }
        return words
    }

    /// The descriptors that are compared with each group, sorted by group.
    private struct Members {
        private let starts: [Int]
        private let rows: [Int32]

        init(of found: [lk_nearest_centers], groupCount: Int) {
            var starts = Array(repeating: 0, count: groupCount + 1)
            for nearest in found { nearest.forEachIndex { starts[$0 + 1] += 1 } }
            for group in 0..<groupCount { starts[group + 1] += starts[group] }
            var rows = Array(repeating: Int32(0), count: starts[groupCount])
            var next = starts
            for (row, nearest) in found.enumerated() {
                nearest.forEachIndex { group in
                    rows[next[group]] = Int32(row)
                    next[group] += 1
                }
            }
            (self.starts, self.rows) = (starts, rows)
        }

        subscript(group: Int) -> ArraySlice<Int32> { rows[starts[group]..<starts[group + 1]] }
    }

    /// The Hamming embedding of a descriptor: a bit per component tells on which side of a word's center it lies.
    ///
    /// H. Jégou, M. Douze and C. Schmid, "Hamming Embedding and Weak Geometric Consistency", ECCV 2008, without their
    /// random rotation: the components are uncorrelated already.
    func signature(of descriptor: SignatureSource, word: UInt16) -> UInt64 {
        var signature: UInt64 = 0
        signatures(of: descriptor, words: [word][...]) { signature = $1 }
        return signature
    }

    /// The same of several words; `body` gets each of them with its signature.
    func signatures(
        of descriptor: SignatureSource, words: ArraySlice<UInt16>, _ body: (_ word: UInt16, _ signature: UInt64) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: words.count) { signatures in
            words.withUnsafeBufferPointer { words in
                withUnsafeBytes(of: descriptor.limits) { limits in
                    kernels.table.signatures(
                        limits.assumingMemoryBound(to: UInt8.self).baseAddress, centers, words.baseAddress, words.count,
                        signatures.baseAddress)
                }
                for (word, signature) in zip(words, signatures) { body(word, signature) }
            }
        }
    }

    /// How far a descriptor is from the other side of a word's center, for the first eight bits of its signature.
    func margins(of descriptor: SignatureSource, word: UInt16) -> SIMD8<Int16> {
        let center = Int(word) * Self.depth
        var margins = SIMD8<Int16>()
        for index in 0..<8 {
            // In halves of a code. The limit is the first code that is not below the descriptor.
            margins[index] = abs(2 * (Int16(descriptor.limits[index]) - Int16(centers[center + index])) - 1)
        }
        return margins
    }

    /// What signatures of a descriptor are made of, for any word.
    struct SignatureSource {
        /// A center with a smaller code is below the descriptor.
        fileprivate let limits: SIMD64<UInt8>
    }

    func signatureSource(_ descriptor: UnsafeBufferPointer<Float>) -> SignatureSource {
        var limits = SIMD64<UInt8>()
        for index in 0..<Self.depth {
            limits[index] = UInt8(min(max((descriptor[index] / unit + Float(zero)).rounded(.up), 0), 255))
        }
        return SignatureSource(limits: limits)
    }

    /// What a catalog keeps of a descriptor with a word.
    func code(of descriptor: UnsafeBufferPointer<Float>, word: UInt16) -> DescriptorCode {
        let center = Int(word) * Self.depth
        let far = quantizer.far { descriptor[$0] / unit - Float(Int(centers[center + $0]) - zero) }
        return DescriptorCode(signature: signature(of: signatureSource(descriptor), word: word), far: far)
    }

    /// Writes the descriptors that codes stand for, a row of bytes each, in units above the zero point, and returns the
    /// inverse of each row's norm in units.
    ///
    /// Words of damaged features may be beyond the vocabulary, and count as its last one; `catalog verify` reports it.
    ///
    /// - Precondition: there is a word for each code.
    func restore(
        _ codes: [DescriptorCode], words: [UInt16], into rows: UnsafeMutableBufferPointer<UInt8>
    ) -> [Float] {
        precondition(words.count == codes.count && rows.count >= codes.count * Self.depth)
        return centers.withUnsafeBufferPointer { centers in
            zip(codes, words).enumerated().map { row, feature in
                let squares = kernels.table.restore_descriptor(
                    centers.baseAddress.map { $0 + min(Int(feature.1), wordCount - 1) * Self.depth },
                    feature.0.signature, UInt64(feature.0.far), quantizer.nearOffsets, quantizer.farOffsets,
                    UInt8(zero), rows.baseAddress.map { $0 + row * Self.depth })
                return 1 / Float(max(squares, 1)).squareRoot()
            }
        }
    }

    /// The unit vectors that codes stand for, one after another.
    func descriptors(_ codes: [DescriptorCode], words: [UInt16]) -> [Float] {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: codes.count * Self.depth) { rows in
            let scales = restore(codes, words: words, into: rows)
            return rows.indices.map { Float(Int(rows[$0]) - zero) * scales[$0 / Self.depth] }
        }
    }
}

extension lk_nearest_centers {
    fileprivate init(capacity: Int) {
        self.init()
        self.capacity = Int32(capacity)
    }

    /// Calls `body` with the indices, best first.
    fileprivate func forEachIndex(_ body: (Int) -> Void) {
        withUnsafeBytes(of: indices) { bytes in
            for index in bytes.assumingMemoryBound(to: Int32.self).prefix(Int(count)) { body(Int(index)) }
        }
    }
}

/// Cluster centers in groups of sixteen, ready for int8 dot products.
private struct PackedCenters: Sendable {
    private let packed: [UInt8]
    /// Half the squared norm of each center; a dot product above it means that a center is near.
    private let halfSquaredNorms: [Float]
    private let unit: Float
    private let zero: Int32
    private let kernels: SIMDTarget

    private var groupCount: Int { halfSquaredNorms.count / 16 }

    private static let depth = LocalFeatureModel.dimension

    init(_ centers: ArraySlice<UInt8>, unit: Float, zero: Int, kernels: SIMDTarget) {
        let depth = Self.depth
        let count = centers.count / depth
        var packed = [UInt8](repeating: 0, count: count * depth)
        halfSquaredNorms = centers.withUnsafeBufferPointer { rows in
            kernels.table.pack_quantized_rows(rows.baseAddress, depth, count, depth, &packed)
            return (0..<count).map { row in
                var sum: Int32 = 0
                for index in (row * depth)..<((row + 1) * depth) {
                    let component = Int32(rows[index]) - Int32(zero)
                    sum += component * component
                }
                return Float(sum) * unit * unit / 2
            }
        }
        self.packed = packed
        self.unit = unit
        self.zero = Int32(zero)
        self.kernels = kernels
    }

    /// Offers all centers, numbered from `first` on, to some of the descriptors.
    ///
    /// - Parameter rows: the numbers of the descriptors; `nearest[row]` is what each has found.
    func offer(
        _ queries: QuantizedComponents, rows: ArraySlice<Int32>, first: Int,
        to nearest: UnsafeMutableBufferPointer<lk_nearest_centers>
    ) {
        let (depth, count) = (Self.depth, halfSquaredNorms.count)
        var start = rows.startIndex
        while start < rows.endIndex {
            let part = rows[start..<min(start + Self.rowsAtOnce, rows.endIndex)]
            start = part.endIndex
            withUnsafeTemporaryAllocation(of: Int8.self, capacity: part.count * depth) { codes in
                for (place, row) in part.enumerated() {
                    queries.copyCodes(of: Int(row), to: codes, at: place * depth)
                }
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: part.count * count) { dots in
                    kernels.table.quantized_products(
                        codes.baseAddress, part.count, packed, groupCount, depth / 4, dots.baseAddress)
                    for (place, row) in part.enumerated() {
                        let query = queries.quantizations[Int(row)]
                        kernels.table.offer_centers(
                            dots.baseAddress.map { $0 + place * count }, query.sum * zero, query.unit * unit,
                            halfSquaredNorms, count, Int32(first), nearest.baseAddress.map { $0 + Int(row) })
                    }
                }
            }
        }
    }

    /// The dot products of so many rows stay in the first-level cache with a group of centers.
    private static let rowsAtOnce = 16
}
