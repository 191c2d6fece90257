package import FeaturePrints
package import LocalFeatures

/// An image that is compared with single others, without a catalog: by its prints, and by its local features.
///
/// The evidence and its weights are those of ``SearchableCatalog/search(matching:options:)``. What that learns from the
/// rest of the catalog is missing: neighbors that move the threshold, and rivals that share inliers.
package struct PictureQuery: Sendable {
    /// A print per crop.
    package let prints: [FeaturePrint]
    /// The match threshold of the prints; nil for a model without one.
    package let matchThreshold: Double?
    /// The weights of the evidence.
    package let coefficients: ConfidenceCoefficients
    /// The local features; nil if prints alone are compared.
    package let features: LocalFeatureQuery?
    private let dense: DenseDescriptors?

    /// Images whose prints are farther than this beyond the threshold are not compared by their local features. A photo
    /// that shows an image small has prints up to this far away from it.
    private static let reach = 0.6

    /// - Parameters:
    ///   - prints: at least one.
    ///   - dense: the dense descriptors of the image; nil if it has no local features.
    package init(
        prints: [FeaturePrint], matchThreshold: Double?, coefficients: ConfidenceCoefficients,
        features: LocalFeatureQuery?, dense: DenseDescriptors?
    ) {
        (self.prints, self.matchThreshold, self.coefficients) = (prints, matchThreshold, coefficients)
        (self.features, self.dense) = (features, dense)
    }

    /// The distance of an image, 1 at the match threshold: the distance at which a print alone would be as sure, as a
    /// share of the threshold. Negative for an image that is surer than any print. Without a threshold it is the
    /// distance of the prints.
    ///
    /// O(prints · dimension), and O(query features · image features) for an image whose print is not far away.
    ///
    /// - Throws: `FeaturePrintError` if another model made the image's print.
    package func relativeDistance(
        to print: FeaturePrint, features image: LocalFeatures?
    ) throws(FeaturePrintError) -> Double {
        var distance = Double.infinity
        for own in prints { distance = min(distance, try own.distance(to: print)) }
        guard let threshold = matchThreshold, threshold > 0 else { return distance }
        let confidence = MatchConfidence(
            coefficients, threshold: threshold, verified: [], isVerified: features != nil && image != nil)
        let unverified = distance + confidence.margin
        guard let features, let image, distance < threshold + Self.reach,
            let evidence = evidence(features, image, distance: distance)
        else { return unverified / threshold }
        let odds = coefficients.logOdds(evidence, distance: distance, threshold: threshold)
        return (confidence.distance(logOdds: odds) + confidence.margin) / threshold
    }

    /// What local features say of an image; nil if they say nothing.
    private func evidence(_ query: LocalFeatureQuery, _ image: LocalFeatures, distance: Double) -> MatchEvidence? {
        let outline = query.verify(image)
        if CandidateSearch.disagrees(outline, of: image, with: query, squaredDistance: Float(distance * distance)) {
            return MatchEvidence(inliers: 0, share: 0, matches: 0, denseMatches: 0)
        }
        let isSibling =
            outline.map {
                CandidateSearch.isSibling(
                    inliers: Double($0.inlierCount), squaredDistance: Float(distance * distance))
            } ?? false
        let needsDense = outline?.inlierCount ?? 0 < CandidateSearch.surelyFound && !isSibling
        guard outline != nil || needsDense && dense != nil else { return nil }
        var evidence = MatchEvidence(
            inliers: Double(outline?.inlierCount ?? 0), share: outline?.share ?? 0, matches: outline?.matchCount ?? 0,
            denseMatches: needsDense ? dense?.matchCount(with: image.dense) ?? 0 : 0)
        // Two pictures have no rivals but chance.
        evidence.lead(overInliers: 0, denseMatches: 0)
        return evidence
    }
}
