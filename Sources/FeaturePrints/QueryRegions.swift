/// Which parts of a query image are embedded. The distance of an entity is the nearest over them.
///
/// A photograph often shows more than the thing in it, at an angle. The model tells where it takes
/// the thing to be, and the query is looked at again there, straightened; a further look starts from
/// what the one before saw, and lies closer. Every region costs a forward pass.
public struct QueryRegions: Sendable, Hashable {
    /// Shares of both sides, around the image's centre; 1 is the whole image.
    public let fractions: [Double]
    /// How often the object is looked for in the first of these parts and looked at straight; without
    /// effect for a model that does not tell where objects are (``FeaturePrintModel/findsObjects``).
    public let objectLooks: Int

    /// - Precondition: there is at least one fraction, each is above 0 and at most 1, and `objectLooks` is
    ///   not negative.
    public init(fractions: [Double], objectLooks: Int = 0) {
        precondition(!fractions.isEmpty && fractions.allSatisfy { $0 > 0 && $0 <= 1 }, "fractions lie in 0…1: \(fractions)")
        precondition(objectLooks >= 0, "\(objectLooks) looks cannot be taken")
        self.fractions = fractions
        self.objectLooks = objectLooks
    }

    /// The whole image alone.
    public static let whole = QueryRegions(fractions: [1])
    /// The whole image, the middle 72 % of both sides, and two looks at the object: four forward passes.
    public static let object = QueryRegions(fractions: [1, 0.72], objectLooks: 2)
    /// The whole image, and the middle 72 % of both sides.
    public static let centre = QueryRegions(fractions: [1, 0.72])
    /// Besides, the middle 86 % and 52 %.
    public static let centres = QueryRegions(fractions: [1, 0.86, 0.72, 0.52])
}
