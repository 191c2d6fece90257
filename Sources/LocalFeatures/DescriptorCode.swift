/// What a catalog keeps of a descriptor: where it lies from the center of its visual word.
///
/// The word says most: three quarters of the variance. A bit of each component says on which side of the center it is,
/// which is the signature of Hamming embedding, and a second one of the first 32, which vary most, whether it is far
/// away. H. Jégou et al., "Searching in One Billion Vectors: Re-rank with Source Coding", ICASSP 2011, keep what a
/// coarse quantizer leaves in the same way.
public struct DescriptorCode: Sendable, Hashable {
    /// The components above the center, a bit each.
    public let signature: UInt64
    /// The first components that are far from the center, a bit each.
    public let far: UInt32

    /// Bytes of a stored code.
    static let byteCount = 12

    /// The stored code: the signature, then the far components, little-endian.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: signature.littleEndian, Array.init) + withUnsafeBytes(of: far.littleEndian, Array.init)
    }
}

/// The levels of a number that quantize it with the least error, if numbers are normal with the variance 1.
///
/// J. Max, "Quantizing for Minimum Distortion", IRE Transactions on Information Theory, 1960, Table I. Levels are
/// those of one sign, from zero.
struct LloydMaxQuantizer: Sendable {
    /// Between the levels.
    let thresholds: [Float]
    let levels: [Float]

    static let oneBit = LloydMaxQuantizer(thresholds: [], levels: [0.7980])
    static let twoBits = LloydMaxQuantizer(thresholds: [0.9816], levels: [0.4528, 1.510])
    static let threeBits = LloydMaxQuantizer(
        thresholds: [0.5006, 1.050, 1.748], levels: [0.2451, 0.7560, 1.344, 2.152])

    /// The place of a number's level.
    func level(of number: Float) -> Int { thresholds.count { $0 < abs(number) } }
}

/// Quantizes the offsets of descriptors from the centers of their words: two bits for each of the first components, and
/// one for the others.
struct ResidualQuantizer: Sendable {
    /// The offsets of components that are not far, in units of the vocabulary.
    let nearOffsets: [UInt8]
    /// The offsets of those that are.
    let farOffsets: [UInt8]
    private let thresholds: [Float]

    /// - Parameters:
    ///   - deviations: the standard deviation of each component.
    ///   - unit: that of the vocabulary.
    init(_ deviations: [Float], unit: Float) {
        func units(_ number: Float) -> UInt8 { UInt8(min((number / unit).rounded(), 255)) }
        let (coarse, fine) = (LloydMaxQuantizer.oneBit, LloydMaxQuantizer.twoBits)
        nearOffsets = deviations.enumerated().map { units(($0 < UInt32.bitWidth ? fine : coarse).levels[0] * $1) }
        farOffsets = deviations.map { units(fine.levels[1] * $0) }
        thresholds = deviations.prefix(UInt32.bitWidth).map { fine.thresholds[0] * $0 / unit }
    }

    /// The bits of the components that are far from the center.
    ///
    /// - Parameter offset: that of a component, in units of the vocabulary.
    func far(_ offset: (_ component: Int) -> Float) -> UInt32 {
        thresholds.enumerated().reduce(0) { $0 | (abs(offset($1.offset)) > $1.element ? 1 << UInt32($1.offset) : 0) }
    }
}
