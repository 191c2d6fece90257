import Catalogs
import Foundation

/// The ranking of a query with pixels and labels, by the score that ``SearchQuery`` defines.
///
/// Among entities with the same number of labels a nearer one has the better score. So each number has a ranking by
/// distance, which the exact search can start anywhere. The first entities of these rankings hold the first entities of
/// the whole: no entity is left out, however many the pixels or the labels find. The searches share no rows: together
/// they read the prints once.
struct FusedRanking {
    let query: SearchQuery
    let catalog: Catalog
    let condition: Condition
    /// The entity before the first one; nil for the beginning.
    let cursor: SearchCursor?

    /// The number of pixel matches below which all are ranked at once. That is faster than a search for each number of
    /// labels.
    let fewMatches: Int
    /// The score that separates what pixels found (½ and more) from what labels alone found (½ and less).
    private static let labelScore = 0.5

    /// The first `count` entities. O(prints + label matches).
    func first(_ count: Int) async throws -> [RankedKey] {
        let near =
            try await query.prints.isEmpty
            ? []
            : query.withinLimit(
                catalog.ranking(
                    of: query.catalogQuery(in: catalog), limit: fewMatches, bounds: .none, condition: condition,
                    after: nil
                ))
        try Task.checkCancellation()
        let ranking = try await near.count < fewMatches ? merged(near, count) : streamed(count)
        return Array(ranking.sorted { $0.isBefore($1) }.filter { isAfterCursor($0) }.prefix(count))
    }

    private func isAfterCursor(_ place: RankedKey) -> Bool {
        cursor.map { ($0.sortKey, $0.key) < (place.cursor.sortKey, place.key) } ?? true
    }

    private func ranked(_ key: Int64, _ place: RankedEntity?, labelCount: Int) -> RankedKey {
        let score = query.score(distance: place?.effectiveDistance, labelCount: labelCount)
        return RankedKey(
            score: score, match: place.map(RankedKey.Match.init), cursor: SearchCursor(sortKey: 1 - score, key: key))
    }

    // MARK: Few pixel matches

    /// The ranking of all pixel matches and of the first entities that only labels found.
    private func merged(_ near: [RankedEntity], _ count: Int) async throws -> [RankedKey] {
        let labelCounts = try catalog.entities(
            havingAnyOf: query.labels, among: near.map(\.key), limit: near.count, condition: condition
        )
        .reduce(into: [Int64: Int]()) { $0[$1.key] = $1.count }
        let known = Set(near.map(\.key))
        let words = try catalog.entities(
            havingAnyOf: query.labels, after: labelPlace, limit: count + known.count, condition: condition)
        return near.map { ranked($0.key, $0, labelCount: labelCounts[$0.key] ?? 0) }
            + words.filter { !known.contains($0.key) }.map { ranked($0.key, nil, labelCount: $0.count) }
    }

    /// The place of the cursor among the entities that only labels found; nil before the first of them.
    private var labelPlace: PhraseMatch? {
        guard let cursor else { return nil }
        return (0...query.labels.count).first { 1 - query.score(distance: nil, labelCount: $0) == cursor.sortKey }
            .map { PhraseMatch(key: cursor.key, count: $0) }
    }

    // MARK: Many pixel matches

    private func streamed(_ count: Int) async throws -> [RankedKey] {
        // The order is by number of labels, the largest first, then the catalog's.
        let labeled = try catalog.entities(havingAnyOf: query.labels, limit: .max, condition: condition)
        var ranking = try await verified(labeled)
        let verifiedKeys = Set(query.verified.map(\.entity))
        var rest = verifiedKeys
        for (labelCount, matches) in Dictionary(grouping: labeled, by: \.count) {
            try Task.checkCancellation()
            rest.formUnion(matches.map(\.key))
            let keys = matches.map(\.key).filter { !verifiedKeys.contains($0) }
            ranking += try await unverified(count, labelCount: labelCount, among: .only(keys))
        }
        try Task.checkCancellation()
        ranking += try await unverified(count, labelCount: 0, among: .allBut(rest.sorted()))
        let better = ranking.filter { isAfterCursor($0) && $0.score > Self.labelScore }
        return better.count < count ? try await ranking + labelsAlone(count, of: labeled) : ranking
    }

    /// The entities whose local features were found, all of them: they are few.
    private func verified(_ labeled: [PhraseMatch]) async throws -> [RankedKey] {
        guard !query.verified.isEmpty else { return [] }
        let keys = Set(query.verified.map(\.entity))
        let labelCounts = labeled.filter { keys.contains($0.key) }.reduce(into: [:]) { $0[$1.key] = $1.count }
        return try await query.withinLimit(
            catalog.ranking(
                of: query.catalogQuery(in: catalog), limit: keys.count, bounds: .none, condition: condition, after: nil,
                among: .only(keys.sorted()))
        ).map { ranked($0.key, $0, labelCount: labelCounts[$0.key] ?? 0) }
    }

    /// The first entities after the cursor that have this number of labels.
    private func unverified(_ count: Int, labelCount: Int, among keys: KeySelection) async throws -> [RankedKey] {
        let pixels = query.catalogQuery(in: catalog).withoutVerified
        func sortKey(_ squaredDistance: Float) -> Double {
            1
                - query.score(
                    distance: pixels.effectiveDistance(squaredDistance: squaredDistance), labelCount: labelCount)
        }
        return try await query.withinLimit(
            catalog.ranking(
                of: pixels, limit: count, bounds: .none, condition: condition, after: start(sortKey), among: keys)
        ).map { ranked($0.key, $0, labelCount: labelCount) }
    }

    /// The cursor in a ranking by squared distance that corresponds to this ranking's.
    ///
    /// - Parameter sortKey: the sort key of a squared distance; it never decreases.
    private func start(_ sortKey: (Float) -> Double) -> SearchCursor? {
        guard let cursor else { return nil }
        // A binary search over all floats finds the smallest squared distance that is not before the cursor: the bits
        // of positive floats are in the order of their values.
        var (low, high) = (UInt32(0), Float(5).bitPattern)
        while low < high {
            let middle = low + (high - low) / 2
            if sortKey(Float(bitPattern: middle)) < cursor.sortKey { low = middle + 1 } else { high = middle }
        }
        let first = Float(bitPattern: low)
        if sortKey(first) == cursor.sortKey { return SearchCursor(sortKey: Double(first), key: cursor.key) }
        return low == 0 ? nil : SearchCursor(sortKey: Double(Float(bitPattern: low - 1)), key: .max)
    }

    /// The first entities after the cursor that have labels and whose pixels are too far away.
    private func labelsAlone(_ count: Int, of labeled: [PhraseMatch]) async throws -> [RankedKey] {
        let pixels = query.catalogQuery(in: catalog)
        let rest = labeled.map { ranked($0.key, nil, labelCount: $0.count) }.filter { isAfterCursor($0) }[...]
        var found: [RankedKey] = []
        var (start, length) = (0, count)
        while found.count < count, start < rest.count {
            try Task.checkCancellation()
            let part = rest[start..<min(rest.count, start + length)]
            let near = try await query.withinLimit(
                catalog.ranking(
                    of: pixels, limit: part.count, bounds: .none, condition: condition, after: nil,
                    among: .only(part.map(\.key).sorted())))
            let known = Set(near.map(\.key))
            found += part.filter { !known.contains($0.key) }
            // Parts grow: where the pixels found most of what has a label, few parts suffice.
            (start, length) = (part.endIndex, length * 4)
        }
        return found
    }
}
