package import CatalogEntities
import Compute
import FeaturePrints
import Foundation

/// An entity's place in the ranking of a query, before anything is read of the entity.
package struct RankedEntity: Sendable {
    /// The entity's row in the database.
    package let key: Int64
    /// The place of its likeliest image among its images.
    package let image: Int
    package let squaredDistance: Float
    /// 0...1.
    package let confidence: Double
    /// Nil if local features did not verify the entity.
    package let verified: VerifiedEntity?
    /// Ascending; see ``SearchableCatalog/ranking(of:limit:bounds:condition:after:among:)``.
    package let sortKey: Double
    /// The distance at which a print alone would be as sure. Negative for an entity that is surer than any print.
    package let effectiveDistance: Double
}

extension SearchableCatalog {
    /// The ranking of a query, surest first, or what follows a cursor in it.
    ///
    /// Entities that were not verified are ranked by the squared distance of their prints, which is their sort key. A
    /// verified entity has the sort key of the one that would be as likely, with the sign of the distance; so both
    /// kinds form one ranking, and the exact search can start at any cursor. An entity with several images has the
    /// place of the likeliest. Searches in flight share one pass over the prints where that is faster.
    ///
    /// - Parameters:
    ///   - limit: any number; more than there are entities is all of them.
    ///   - keys: the entities to rank, of those that satisfy the condition; all of them by default.
    ///   - recall: as in ``SearchOptions``; pages after the first are exact.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model; ``CatalogError``; and
    ///   `CancellationError`.
    package func ranking(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, condition: Condition, after cursor: SearchCursor?,
        among keys: KeySelection? = nil, recall: Double = SearchOptions.defaultRecall
    ) async throws -> [RankedEntity] {
        try bounds.check()
        let bounds = query.bounds(bounds)
        let excluded = query.excluded
        return try await scans.countingSearch {
            try await executor.compute { cancellation in
                for print in query.prints { try model.check(print) }
                guard limit > 0, !query.prints.isEmpty else { return [] }
                let state = try state()
                let selection = try await state.selection(where: condition, among: keys)
                let confidence = query.confidence
                let verified = try await Self.verified(of: query, in: state, selection)
                let judged = Set(verified.map(\.key))
                let likely = verified.filter { !excluded.contains($0.entity) }.map(confidence.place)
                // Larger limits could overflow when they are added to.
                let limit = min(limit, state.entityCount)
                let last = cursor.flatMap { cursor in
                    cursor.sortKey < 0
                        ? nil : RankingPlace(entity: cursor.key, squaredDistance: Float(cursor.sortKey))
                }
                var count = limit + verified.count + excluded.count
                while true {
                    // What the query's first stage found needs no other scan.
                    let known =
                        last == nil
                        ? query.scan?.nearest(count, at: state.revision, in: selection, recall: recall) : nil
                    let found: [NearImage]
                    if let known {
                        found = known
                    } else {
                        found = try await state.nearest(
                            count, to: query.prints, in: selection, after: last, recall: recall,
                            cancellation: cancellation)
                    }
                    var near = found
                    if last != nil {
                        let entities = Set(near.map(\.entity) + verified.map(\.entity))
                        near += try await Self.siblings(in: entities, of: near, to: query.prints, in: state)
                    }
                    near = near.filter { !judged.contains($0.key) && !excluded.contains($0.entity) }
                    var ranked = (likely + near.map(confidence.place)).sorted { $0.isBefore($1) }
                    if state.entityCount < state.imageCount {
                        var seen: Set<Int64> = []
                        ranked = ranked.filter { seen.insert($0.key).inserted }
                    }
                    try state.check()
                    if let cursor { ranked.removeAll { ($0.sortKey, $0.key) <= (cursor.sortKey, cursor.key) } }
                    // Images that were not found come after the last one. Of entities with several, more are needed.
                    let isComplete = found.count < count || count >= state.imageCount
                    let end = found.last.map { (Double($0.squaredDistance), $0.entity) } ?? (0, 0)
                    if isComplete || ranked.count(where: { ($0.sortKey, $0.key) <= end }) >= limit {
                        // In a ranking that mixes verified entities with others, those within a distance are not the
                        // first.
                        return Array(
                            ranked.lazy.filter { bounds.contains($0, threshold: query.matchThreshold) }.prefix(limit))
                    }
                    count *= 4
                }
            }
        }
    }

    /// The images of entities besides those that were found: a scan that starts after a cursor finds the further ones
    /// alone.
    private static func siblings(
        in entities: Set<Int64>, of found: [NearImage], to prints: [FeaturePrint], in state: any CatalogState
    ) async throws -> [NearImage] {
        let known = Set(found.map(\.key))
        let others = try await state.siblings(of: Array(entities)).filter { !known.contains($0) }
        if others.isEmpty { return [] }
        return try await state.squaredDistances(of: others, to: prints).map { NearImage(key: $0, squaredDistance: $1) }
    }

    /// The verified images that the state still has, unchanged, and whose entities are selected.
    private static func verified(
        of query: CatalogQuery, in state: any CatalogState, _ selection: EntitySelection?
    ) async throws -> [VerifiedEntity] {
        let earlier = Dictionary(
            query.verified.map { ($0.key, $0.revision) }.filter { $0.1 < state.revision.number }, uniquingKeysWith: min)
        let changed = earlier.isEmpty ? [] : try await state.keys(changedSince: earlier)
        let present = query.verified.map(\.key).filter { !changed.contains($0) }
        let selected = present.isEmpty ? [] : try await state.selected(present, in: selection)
        return query.verified.filter { selected.contains($0.key) }
    }
}

extension RankedEntity {
    fileprivate func isBefore(_ other: RankedEntity) -> Bool {
        (sortKey, key, image) < (other.sortKey, other.key, other.image)
    }
}

extension CatalogQuery {
    /// The effective distance of an entity that was not verified. Strictly increasing, in double precision: a ranking
    /// by a function of it can start after any entity.
    package func effectiveDistance(squaredDistance: Float) -> Double {
        confidence.effectiveDistance(squaredDistance: squaredDistance)
    }
}

extension MatchConfidence {
    func effectiveDistance(squaredDistance: Float) -> Double { Double(squaredDistance).squareRoot() + margin }

    /// The place of an entity by an image that was not verified.
    func place(_ image: NearImage) -> RankedEntity {
        RankedEntity(
            key: image.entity, image: ImageRow.place(image.key), squaredDistance: image.squaredDistance,
            confidence: confidence(distance: image.distance), verified: nil,
            sortKey: Double(image.squaredDistance),
            effectiveDistance: effectiveDistance(squaredDistance: image.squaredDistance))
    }

    /// Prints of one picture that was decoded, or compressed, in two ways are nearer than this.
    private static let largestDistanceOfSame = 0.02

    /// The place of an entity by an image whose local features were compared.
    func place(_ entity: VerifiedEntity) -> RankedEntity {
        var odds =
            entity.isCompared
            ? coefficients.logOdds(entity.evidence, distance: entity.distance, threshold: threshold)
            : isCalibrated ? logOdds(distance: entity.distance) : -.infinity
        if entity.textProbability > 0 { odds = Self.logOdds(odds, orProbability: entity.textProbability) }
        if entity.isNamedByCode { odds = max(odds, Self.logOddsOfCode) }
        let asPrint = self.distance(logOdds: odds)
        // As a float, like the squared distances that it is sorted among, so that cursors are exact. The very picture
        // comes before its crops, which may be as sure.
        let isSame = entity.isCompared && entity.distance <= Self.largestDistanceOfSame
        let sortKey = Double(Float(isSame ? (entity.distance - 1) * 1e5 : asPrint * abs(asPrint)))
        return RankedEntity(
            key: entity.entity, image: ImageRow.place(entity.key), squaredDistance: entity.squaredDistance,
            confidence: Self.probability(odds), verified: entity, sortKey: sortKey, effectiveDistance: asPrint + margin)
    }
}

extension MatchBounds {
    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    package func contains(_ place: RankedEntity, threshold: Double?) -> Bool {
        let largest = maxDistance.distance(threshold: threshold)
        // Opposite prints may be a rounding error farther apart than any limit.
        return place.confidence >= minConfidence
            && (largest >= DistanceLimit.largest || Double(place.squaredDistance.squareRoot()) <= largest)
    }
}
