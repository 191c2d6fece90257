import PixelBuffers

/// Which parts of a query image are embedded. The distance of an entity is the nearest over them.
///
/// A photograph often shows more than the thing in it; its middle shows the thing larger. Every
/// region costs a forward pass.
public struct QueryRegions: Sendable, Hashable {
    /// Shares of both sides, around the image's centre; 1 is the whole image.
    public let fractions: [Double]

    /// - Precondition: there is at least one fraction, and each is above 0 and at most 1.
    public init(fractions: [Double]) {
        precondition(!fractions.isEmpty && fractions.allSatisfy { $0 > 0 && $0 <= 1 }, "fractions lie in 0…1: \(fractions)")
        self.fractions = fractions
    }

    /// The whole image alone.
    public static let whole = QueryRegions(fractions: [1])
    /// The whole image, and the middle 72 % of both sides.
    public static let centre = QueryRegions(fractions: [1, 0.72])
    /// Besides, the middle 86 % and 52 %.
    public static let centres = QueryRegions(fractions: [1, 0.86, 0.72, 0.52])

    /// The regions of an image, sharing its memory.
    public func parts(of image: PixelBuffer) -> [PixelBuffer] {
        fractions.map { $0 == 1 ? image : image.centre($0) }
    }
}
