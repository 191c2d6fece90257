import FeaturePrints

/// How much work an image search does: a trade of time for recall.
public enum SearchEffort: String, Sendable, Hashable, Codable, CaseIterable {
    /// Compares prints alone. Fast, and enough for images that are shown upright and alone.
    case prints
    /// Verifies the best candidates by their local features. Extracts finer keypoints of a query that shows several
    /// things, or in which nothing is found at first.
    case standard
    /// Extracts finer keypoints of every query and verifies more candidates.
    case thorough

    /// The crops of a query to embed. Verification makes up for two of four.
    public var crops: QueryCrops {
        self == .standard ? QueryCrops(centerFractions: [1], localizedCrops: 1) : .localized
    }

    /// Candidates to verify that the prints propose.
    var printCandidates: Int { self == .thorough ? 50 : 10 }
    /// The maximum number of verified entities whose rectified crop is embedded; one forward pass each.
    var rectifiedCrops: Int { self == .thorough ? 32 : 16 }
    /// Candidates to verify that the local features propose, for each detail they are extracted in.
    var featureCandidates: Int { self == .thorough ? 100 : 20 }
}
