import CKernels

/// The size of inverted lists, and how their images are coded.
///
/// The images of a list ascend. The low bits of each are stored as they are, and the high bits as the places of set
/// bits: if those of the k-th image are h, the bit h + k of its list is set. An image takes two to three bits besides
/// its low ones, and each can be read without those before it. P. Elias, "Efficient Storage and Retrieval by Content
/// and Address of Static Files", J. ACM 1974; S. Vigna, "Quasi-Succinct Indices", WSDM 2013.
package struct InvertedListsShape: Sendable, Hashable {
    /// Lists: visual words.
    package let listCount: Int
    /// Images, with features or without.
    package let imageCount: Int
    /// The features of all images.
    package let featureCount: Int

    /// - Precondition: the numbers are not negative.
    package init(listCount: Int, imageCount: Int, featureCount: Int) {
        precondition(listCount >= 0 && imageCount >= 0 && featureCount >= 0)
        (self.listCount, self.imageCount, self.featureCount) = (listCount, imageCount, featureCount)
    }

    /// The low bits of an image: their number is that of the mean gap between the images of a list.
    var lowBitCount: Int {
        guard imageCount > 0, featureCount > 0 else { return 0 }
        let gap = Double(imageCount) * Double(listCount) / Double(featureCount)
        return gap < 1 ? 0 : min(gap.exponent, Self.mostLowBits)
    }
    private static let mostLowBits = 31

    /// The largest number that the high bits of an image are.
    var largestHigh: Int { max(imageCount - 1, 0) >> lowBitCount }

    /// 64-bit words of all low bits. One more than they fill, so that two can be read at any place.
    package var lowWordCount: Int { Self.words(featureCount.multipliedReportingOverflow(by: lowBitCount)) + 1 }

    /// 64-bit words of all high bits.
    package var highWordCount: Int {
        let (zeros, isTooLarge) = listCount.multipliedReportingOverflow(by: largestHigh)
        return isTooLarge ? .max / 64 : Self.words(featureCount.addingReportingOverflow(zeros))
    }

    /// More than any memory has for a number of bits that is no integer.
    private static func words(_ bits: (partialValue: Int, overflow: Bool)) -> Int {
        bits.overflow ? .max / 64 : bits.partialValue / 64 + (bits.partialValue % 64 > 0 ? 1 : 0)
    }
}

/// The coded images of inverted lists.
struct CodedImages {
    let shape: InvertedListsShape
    let lows: UnsafeBufferPointer<UInt64>
    let highs: UnsafeBufferPointer<UInt64>
    private let lowBitCount: Int
    private let largestHigh: Int

    /// - Precondition: there are as many words as the shape says.
    init(_ shape: InvertedListsShape, lows: UnsafeBufferPointer<UInt64>, highs: UnsafeBufferPointer<UInt64>) {
        precondition(lows.count == shape.lowWordCount && highs.count == shape.highWordCount)
        (self.shape, self.lows, self.highs) = (shape, lows, highs)
        (lowBitCount, largestHigh) = (shape.lowBitCount, shape.largestHigh)
    }

    /// Reads the images at some places of a list, which ascend; nonsense where the bits are.
    ///
    /// - Parameters:
    ///   - first: the place of the list's first feature among those of all lists.
    ///   - found: the places, all of them in the list.
    ///   - images: as many numbers as there are places.
    func read(
        ofList list: Int, from first: Int, at found: UnsafeBufferPointer<lk_hamming>,
        into images: UnsafeMutableBufferPointer<UInt32>
    ) {
        precondition(images.count >= found.count)
        var coded = lk_coded_list(
            lows: lows.baseAddress, highs: highs.baseAddress, high_words: highs.count, first: first,
            start: first + list * largestHigh, low_bits: UInt32(lowBitCount))
        lk_read_coded(&coded, found.baseAddress, found.count, images.baseAddress)
    }

    /// Asks for the bits of a list before they are read.
    ///
    /// - Parameter features: the places of the list's features among those of all lists.
    func prefetch(ofList list: Int, _ features: Range<Int>) {
        guard let lows = lows.baseAddress, let highs = highs.baseAddress else { return }
        let (low, high) = (features.lowerBound * lowBitCount / 64, (features.lowerBound + list * largestHigh) / 64)
        lk_prefetch(lows + low, features.count * lowBitCount / 8 + 8)
        guard high < self.highs.count else { return }
        lk_prefetch(highs + high, (features.count + largestHigh) / 8 + 8)
    }
}

/// Codes the images of inverted lists, list after list: their low bits, or their high bits.
package struct ImageEncoder {
    /// The part of each image that is coded.
    package enum Part: Sendable {
        /// For ``InvertedListsShape/lowWordCount`` words.
        case lows
        /// For ``InvertedListsShape/highWordCount`` words.
        case highs
    }

    private let part: Part
    private let shape: InvertedListsShape
    private let lowBitCount: Int
    private let largestHigh: Int
    private var words: [UInt64] = []
    private var partial: UInt64 = 0
    private var usedBits = 0
    private var wordCount = 0

    /// Codes a part of the images of lists of a shape.
    package init(_ part: Part, of shape: InvertedListsShape) {
        (self.part, self.shape) = (part, shape)
        (lowBitCount, largestHigh) = (shape.lowBitCount, shape.largestHigh)
    }

    /// Appends the next list.
    ///
    /// - Precondition: the images ascend; the same one may follow itself.
    package mutating func append(_ images: [UInt32]) {
        var high = 0
        for image in images {
            switch part {
            case .lows: append(UInt64(image) & (1 << UInt64(lowBitCount) - 1), bits: lowBitCount)
            case .highs:
                // Where images do not ascend, as in a damaged file, the size stays what the shape says.
                let next = max(Int(image) >> lowBitCount, high)
                appendZeros(next - high)
                append(1, bits: 1)
                high = next
            }
        }
        if part == .highs { appendZeros(largestHigh - high) }
    }

    /// The words that are complete, and were not taken before.
    package mutating func takeWords() -> [UInt64] {
        if words.isEmpty { return [] }
        defer { words.removeAll(keepingCapacity: true) }
        return words
    }

    /// The words that are left, after the last list.
    package mutating func finish() -> [UInt64] {
        let all = part == .lows ? shape.lowWordCount : shape.highWordCount
        while wordCount < all { push() }
        return takeWords()
    }

    private mutating func appendZeros(_ count: Int) {
        var left = count
        while left > 0 {
            append(0, bits: min(left, 64))
            left -= 64
        }
    }

    /// - Precondition: the value has no more bits.
    private mutating func append(_ value: UInt64, bits: Int) {
        guard bits > 0 else { return }
        partial |= value << UInt64(usedBits)
        usedBits += bits
        guard usedBits >= 64 else { return }
        let left = usedBits - 64
        push()
        // What did not fit; a shift by 64 is zero.
        (partial, usedBits) = (left > 0 ? value >> UInt64(bits - left) : 0, left)
    }

    private mutating func push() {
        words.append(partial)
        wordCount += 1
        (partial, usedBits) = (0, 0)
    }
}
