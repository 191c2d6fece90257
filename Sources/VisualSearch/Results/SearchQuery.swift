import Catalogs
import FeaturePrints
import Foundation

/// Captured content, embedded: the prints of the pixels, and the labels. It is `Codable`, so that an app can continue
/// the search of the system's sheet without the pixels.
///
/// **How both are weighted.** An entity at distance `d` within the maximum distance `m` has the pixel
/// score `p = 1 − d / 2m`, between ½ and 1; one beyond has `p = 0`. An entity that has `n` of the query's `k` labels
/// among the words of its title, subtitle and labels has the label score `l = n / k`. The score is
/// `1 − (1 − p)(1 − l / 2)`, as if either were an independent witness (a noisy or).
///
/// Entities found by pixels precede those found by labels alone: a distance within the match threshold is rarely wrong,
/// while many entities share a label. Labels decide between entities that look alike. Each entity appears once. This is
/// not reciprocal rank fusion, in which an entity's score depends on the other entities, so that a cursor would not
/// survive a change of the catalog. Ties are broken by the catalog's order.
public struct SearchQuery: Sendable, Hashable {
    /// One print per crop; empty without pixels.
    public let prints: [FeaturePrint]
    /// The labels that contain a letter or a digit.
    public let labels: [String]
    /// The maximum distance of a match.
    public let maxDistance: DistanceLimit
    /// The entities whose local features were found in the pixels.
    let verified: [VerifiedEntity]
    /// Whether local features were compared.
    let isVerified: Bool

    /// Pixel matches that labels may reorder; beyond them the ranking is that of the distance.
    private static let reorderedMatches = 1000

    /// A query from prints and labels, without verification by local features.
    ///
    /// - Parameters:
    ///   - prints: one per crop, of one model.
    ///   - labels: those without a letter or a digit are dropped.
    ///   - maxDistance: the maximum distance of a match.
    public init(prints: [FeaturePrint], labels: [String] = [], maxDistance: DistanceLimit = .recommended) {
        self.init(prints: prints, labels: labels, maxDistance: maxDistance, verified: [], isVerified: false)
    }

    /// The query of an image that a catalog analyzed; verified entities keep their place on all pages.
    init(_ query: CatalogQuery, labels: [String], maxDistance: DistanceLimit) {
        self.init(
            prints: query.prints, labels: labels,
            maxDistance: .atMost(maxDistance.distance(threshold: query.matchThreshold)),
            verified: query.verified, isVerified: query.isVerified)
    }

    private init(
        prints: [FeaturePrint], labels: [String], maxDistance: DistanceLimit, verified: [VerifiedEntity],
        isVerified: Bool
    ) {
        self.prints = prints
        self.verified = verified
        self.isVerified = isVerified
        // A label without a word matches nothing, and must not lower the score of the others.
        self.labels = labels.filter { $0.contains { $0.isLetter || $0.isNumber } }
        self.maxDistance = maxDistance
    }

    /// Whether the query has neither pixels nor words. It finds nothing then.
    public var isEmpty: Bool { prints.isEmpty && labels.isEmpty }

    /// The same query with its maximum distance as a number.
    private func resolved(in catalog: Catalog) -> SearchQuery {
        guard maxDistance == .recommended, prints.allSatisfy({ $0.model == catalog.model.identity }) else {
            return self
        }
        let distance = maxDistance.distance(threshold: catalog.model.matchThreshold(for: prints))
        return SearchQuery(
            prints: prints, labels: labels, maxDistance: .atMost(distance), verified: verified, isVerified: isVerified)
    }

    /// The maximum distance of a resolved query.
    private var limit: Double { maxDistance.distance(threshold: nil) }

    func score(distance: Double?, labelCount: Int) -> Double {
        let pixels = distance.map { limit > 0 ? 1 - min(max(0, $0 / limit), 1) / 2 : 1 } ?? 0
        let words = labels.isEmpty ? 0 : Double(labelCount) / Double(labels.count)
        return 1 - (1 - pixels) * (1 - words / 2)
    }

    /// The first `count` entities of the ranking, or of what follows `cursor` in it.
    func ranking(in catalog: Catalog, filter: CatalogFilter, limit count: Int, after cursor: SearchCursor?) throws
        -> [RankedKey]
    {
        guard !isEmpty, count > 0 else { return [] }
        let query = resolved(in: catalog)
        return labels.isEmpty
            ? try query.pixelRanking(in: catalog, filter: filter, limit: count, after: cursor)
            : try query.fusedRanking(in: catalog, filter: filter, limit: count, after: cursor)
    }

    /// Without labels the order is that of the distances, however many there are.
    private func pixelRanking(
        in catalog: Catalog, filter: CatalogFilter, limit count: Int, after cursor: SearchCursor?
    ) throws -> [RankedKey] {
        try found(in: catalog, filter: filter, limit: count, after: cursor).map { place in
            RankedKey(
                score: score(distance: place.effectiveDistance, labelCount: 0),
                distance: Double(place.squaredDistance.squareRoot()),
                cursor: SearchCursor(sortKey: place.sortKey, key: place.key))
        }
    }

    /// The entities that the pixels found within the limit, surest first.
    private func found(
        in catalog: Catalog, filter: CatalogFilter, limit count: Int, after cursor: SearchCursor?
    ) throws -> [RankedEntity] {
        try catalog.checkModel(of: prints)
        let query = CatalogQuery(
            prints: prints, matchThreshold: catalog.model.matchThreshold(for: prints), verified: verified,
            isVerified: isVerified, candidates: [])
        let ranked = try catalog.ranking(of: query, limit: count, bounds: .none, filter: filter, after: cursor)
        return Array(ranked.prefix { $0.effectiveDistance <= limit })
    }

    private func fusedRanking(
        in catalog: Catalog, filter: CatalogFilter, limit count: Int, after cursor: SearchCursor?
    ) throws -> [RankedKey] {
        func ranked(_ key: Int64, place: RankedEntity?, labelCount: Int) -> RankedKey {
            let score = score(distance: place?.effectiveDistance, labelCount: labelCount)
            return RankedKey(
                score: score, distance: place.map { Double($0.squaredDistance.squareRoot()) },
                cursor: SearchCursor(sortKey: 1 - score, key: key))
        }
        let near = try found(in: catalog, filter: filter, limit: Self.reorderedMatches, after: nil)
        try Task.checkCancellation()
        let labelCounts = try catalog.entities(
            havingAnyOf: labels, among: near.map(\.key), limit: near.count, filter: filter
        )
        .reduce(into: [Int64: Int]()) { $0[$1.key] = $1.count }
        var ranking = near.map { ranked($0.key, place: $0, labelCount: labelCounts[$0.key] ?? 0) }
        // Entities that only labels found follow all of these, in an order that the text index can start anywhere.
        let known = Set(near.map(\.key))
        let words = try catalog.entities(
            havingAnyOf: labels, after: cursor.flatMap { labelPlace(of: $0) }, limit: count + known.count,
            filter: filter)
        ranking += words.filter { !known.contains($0.key) }.map { ranked($0.key, place: nil, labelCount: $0.count) }
        ranking.sort { ($0.cursor.sortKey, $0.key) < ($1.cursor.sortKey, $1.key) }
        if let cursor { ranking.removeAll { ($0.cursor.sortKey, $0.key) <= (cursor.sortKey, cursor.key) } }
        return Array(ranking.prefix(count))
    }

    /// The place of a cursor among the entities that only labels found; nil before the first of them.
    private func labelPlace(of cursor: SearchCursor) -> Catalog.PhraseMatch? {
        (0...labels.count).first { 1 - score(distance: nil, labelCount: $0) == cursor.sortKey }
            .map { Catalog.PhraseMatch(key: cursor.key, count: $0) }
    }
}

/// An entity's place in a ranking, before anything is read of it.
struct RankedKey: Sendable {
    /// 0...1, larger is better.
    let score: Double
    let distance: Double?
    let cursor: SearchCursor
    var key: Int64 { cursor.key }
}

extension SearchQuery: Codable {
    private enum Key: String, CodingKey { case prints, model, labels, maxDistance, verified, isVerified }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let model = try container.decodeIfPresent(ModelIdentity.self, forKey: .model)
        let prints = try container.decode([Data].self, forKey: .prints).map { data in
            let floats = stride(from: 0, to: data.count - data.count % 4, by: 4).map { offset in
                Float(
                    bitPattern: (0..<4).reduce(UInt32(0)) {
                        $0 | UInt32(data[data.startIndex + offset + $1]) << (8 * $1)
                    })
            }
            guard let model, data.count % 4 == 0, !floats.isEmpty, floats.allSatisfy(\.isFinite) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .prints, in: container, debugDescription: "a print is not finite floats of a model")
            }
            return FeaturePrint(vector: floats, model: model)
        }
        self.init(
            prints: prints, labels: try container.decode([String].self, forKey: .labels),
            maxDistance: try container.decodeIfPresent(DistanceLimit.self, forKey: .maxDistance) ?? .unlimited,
            verified: try container.decodeIfPresent([VerifiedEntity].self, forKey: .verified) ?? [],
            isVerified: try container.decodeIfPresent(Bool.self, forKey: .isVerified) ?? false)
    }

    /// Prints as little-endian floats.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(prints.first?.model, forKey: .model)
        try container.encode(
            prints.map { print in
                Data(
                    print.vector.flatMap { value in
                        (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) }
                    })
            },
            forKey: .prints)
        try container.encode(labels, forKey: .labels)
        try container.encode(maxDistance, forKey: .maxDistance)
        try container.encode(verified, forKey: .verified)
        try container.encode(isVerified, forKey: .isVerified)
    }
}
