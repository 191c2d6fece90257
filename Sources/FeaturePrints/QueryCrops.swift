import Compute

/// Which crops of a query image are embedded. An entity's distance is its minimum distance over them.
///
/// A photograph often shows more than the object, and shows it at an angle. The model localizes the object in the
/// image; a localized crop rectifies it. The next localized crop starts from what the one before it localized, and fits
/// better. Each crop costs one forward pass.
public struct QueryCrops: Sendable, Hashable {
    /// Center crops, as shares of both sides; 1 is the whole image.
    public let centerFractions: [Double]
    /// How many localized crops follow; the first is localized in the first center crop.
    ///
    /// Ignored for a model without localization (``FeaturePrintModel/localizesObjects``).
    public let localizedCrops: Int

    /// - Precondition: `centerFractions` is not empty, each fraction is above 0 and at most 1, and `localizedCrops` is
    ///   not negative.
    public init(centerFractions: [Double], localizedCrops: Int = 0) {
        require(
            !centerFractions.isEmpty && centerFractions.allSatisfy { $0 > 0 && $0 <= 1 },
            "center fractions lie in 0…1: \(centerFractions)")
        require(localizedCrops >= 0, "a negative number of localized crops: \(localizedCrops)")
        (self.centerFractions, self.localizedCrops) = (centerFractions, localizedCrops)
    }

    /// The whole image: one forward pass.
    public static let whole = QueryCrops(centerFractions: [1])
    /// The whole image, its center 72 %, and two localized crops: four forward passes. The default.
    public static let localized = QueryCrops(centerFractions: [1, 0.72], localizedCrops: 2)
    /// The whole image and its center 72 %: two forward passes.
    public static let center = QueryCrops(centerFractions: [1, 0.72])
    /// The whole image and its center 86, 72 and 52 %: four forward passes.
    public static let centers = QueryCrops(centerFractions: [1, 0.86, 0.72, 0.52])
}
