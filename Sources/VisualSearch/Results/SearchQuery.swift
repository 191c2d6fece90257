import Catalogs
import FeaturePrints
import Imaging

/// Captured content, embedded: the prints of the pixels, and the labels.
///
/// The query is `Codable`, so that an app can continue the search of the system's sheet without the pixels.
///
/// **How both are weighted.** An entity at distance `d` within the maximum distance `m` has the pixel
/// score `p = 1 − d / 2m`, between ½ and 1; one beyond has `p = 0`. An entity that has `n` of the query's `k` labels
/// among the words of its title, subtitle and labels has the label score `l = n / k`. The score is
/// `1 − (1 − p)(1 − l / 2)`, as if both were independent witnesses (a noisy or).
///
/// Entities found by pixels precede those found by labels alone: a distance within the match threshold is rarely wrong,
/// while many entities share a label. Labels decide between entities that look alike. Each entity appears once. This is
/// not reciprocal rank fusion, in which an entity's score depends on the other entities, so that a cursor would not
/// survive a change of the catalog. Ties are broken by the catalog's order. The rule holds for all entities, however
/// many are within the maximum distance or have a label.
public struct SearchQuery: Sendable, Hashable {
    /// The prints of the pixels, one per crop; empty without pixels.
    public let prints: [FeaturePrint]
    /// The labels that contain a letter or a digit.
    public let labels: [String]
    /// The maximum distance of a match.
    public let maxDistance: DistanceLimit
    /// The entities whose local features were found in the pixels.
    let verified: [VerifiedEntity]
    /// Whether local features were compared.
    let isVerified: Bool
    /// The match threshold in the catalog that analyzed the pixels; nil for prints that were made elsewhere.
    let matchThreshold: Double?

    /// A query from prints and labels, without verification by local features.
    ///
    /// - Parameters:
    ///   - prints: one per crop, of one model.
    ///   - labels: those without a letter or a digit are dropped.
    ///   - maxDistance: the maximum distance of a match.
    public init(prints: [FeaturePrint], labels: [String] = [], maxDistance: DistanceLimit = .recommended) {
        self.init(
            prints: prints, labels: labels, maxDistance: maxDistance, verified: [], isVerified: false,
            matchThreshold: nil)
    }

    /// A query of an image that a catalog analyzed; verified entities keep their place on all pages.
    init(_ query: CatalogQuery, labels: [String], maxDistance: DistanceLimit) {
        self.init(
            prints: query.prints, labels: labels,
            maxDistance: .atMost(maxDistance.distance(threshold: query.matchThreshold)),
            verified: query.verified, isVerified: query.isVerified, matchThreshold: query.matchThreshold)
    }

    private init(
        prints: [FeaturePrint], labels: [String], maxDistance: DistanceLimit, verified: [VerifiedEntity],
        isVerified: Bool, matchThreshold: Double?
    ) {
        self.prints = prints
        self.verified = verified
        self.isVerified = isVerified
        self.matchThreshold = matchThreshold
        // A label without a word matches nothing, and must not lower the score of the others.
        self.labels = labels.filter { $0.contains { $0.isLetter || $0.isNumber } }
        self.maxDistance = maxDistance
    }

    /// Whether the query has neither pixels nor words; an empty query finds nothing.
    public var isEmpty: Bool { prints.isEmpty && labels.isEmpty }

    /// This query, checked, with its maximum distance as a number.
    ///
    /// - Throws: `FeaturePrintError` if the catalog's model cannot have made the prints.
    private func resolved(in catalog: Catalog) throws(FeaturePrintError) -> SearchQuery {
        for print in prints { try catalog.model.check(print) }
        guard maxDistance == .recommended else { return self }
        let distance = maxDistance.distance(threshold: matchThreshold ?? catalog.model.matchThreshold(for: prints))
        return SearchQuery(
            prints: prints, labels: labels, maxDistance: .atMost(distance), verified: verified, isVerified: isVerified,
            matchThreshold: matchThreshold)
    }

    /// The maximum distance of a resolved query.
    var limit: Double { maxDistance.distance(threshold: nil) }

    func score(distance: Double?, labelCount: Int) -> Double {
        let pixels = distance.map { limit > 0 ? 1 - min(max(0, $0 / limit), 1) / 2 : 1 } ?? 0
        let words = labels.isEmpty ? 0 : Double(labelCount) / Double(labels.count)
        return 1 - (1 - pixels) * (1 - words / 2)
    }

    /// The first `count` entities of the ranking, or of what follows `cursor` in it. A query without labels may share a
    /// pass over the prints with other searches.
    ///
    /// - Parameter fewMatches: with fewer pixel matches than this, labels are looked up for all of them; the ranking is
    ///   the same for any number.
    package func ranking(
        in catalog: Catalog, condition: Condition, limit count: Int, after cursor: SearchCursor?,
        fewMatches: Int = 1000
    ) async throws -> [RankedKey] {
        guard !isEmpty, count > 0 else { return [] }
        guard labels.isEmpty else {
            return try await catalog.computing {
                try await FusedRanking(
                    query: resolved(in: catalog), catalog: catalog, condition: condition, cursor: cursor,
                    fewMatches: fewMatches
                ).first(count)
            }
        }
        let (query, pixels) = try await catalog.reading {
            let query = try resolved(in: catalog)
            return (query, query.catalogQuery(in: catalog))
        }
        // Distances alone order a query without labels, however many matches it has.
        return try await query.withinLimit(
            catalog.ranking(of: pixels, limit: count, bounds: .none, condition: condition, after: cursor)
        ).map { place in
            RankedKey(
                score: query.score(distance: place.effectiveDistance, labelCount: 0), match: RankedKey.Match(place),
                cursor: SearchCursor(sortKey: place.sortKey, key: place.key))
        }
    }

    /// The pixels' part of a resolved query.
    func catalogQuery(in catalog: Catalog) -> CatalogQuery {
        CatalogQuery(
            prints: prints, matchThreshold: matchThreshold ?? catalog.model.matchThreshold(for: prints),
            coefficients: catalog.model.confidence, verified: verified, isVerified: isVerified)
    }

    /// The entities of a ranking, surest first, that are within the maximum distance.
    func withinLimit(_ ranked: [RankedEntity]) -> [RankedEntity] {
        Array(ranked.prefix { $0.effectiveDistance <= limit })
    }
}

/// An entity's place in a ranking, before its row is read.
package struct RankedKey: Sendable, Equatable {
    /// The score of the match, 0...1, larger is better.
    package let score: Double
    /// What the pixels say; nil if only labels found the entity.
    package let match: Match?
    package let cursor: SearchCursor
    var key: Int64 { cursor.key }
    var distance: Double? { match?.distance }

    /// The match of an entity with the pixels.
    package struct Match: Sendable, Equatable {
        let distance: Double
        let confidence: Double?
        let outline: Quadrilateral?
        let isMirrored: Bool

        init(_ place: RankedEntity) {
            distance = Double(place.squaredDistance.squareRoot())
            confidence = place.confidence
            outline = place.verified?.outline
            isMirrored = place.verified?.isMirrored ?? false
        }
    }

    func isBefore(_ other: RankedKey) -> Bool { (cursor.sortKey, key) < (other.cursor.sortKey, other.key) }
}

extension SearchQuery: Codable {
    private enum CodingKeys: CodingKey { case prints, labels, maxDistance, verified, isVerified, matchThreshold }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            prints: try values.decode([FeaturePrint].self, forKey: .prints),
            labels: try values.decode([String].self, forKey: .labels),
            maxDistance: try values.decode(DistanceLimit.self, forKey: .maxDistance),
            verified: try values.decode([VerifiedEntity].self, forKey: .verified),
            isVerified: try values.decode(Bool.self, forKey: .isVerified),
            matchThreshold: try values.decodeIfPresent(Double.self, forKey: .matchThreshold))
    }
}
