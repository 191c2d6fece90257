import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
package import FeaturePrints
public import Imaging
public import VectorSearch

extension Catalog {
    /// The answers to a labeled query, with and without its targets in the catalog.
    public struct EvaluatedQuery: Sendable {
        /// Matches, surest first, whether accepted or not.
        public let matches: [CatalogMatch]
        /// The outcome with the whole catalog.
        public let outcome: Evaluation.Outcome
        /// The outcome if the catalog lacked the targets; nil unless wanted, and for a query without a target.
        public let withoutTargets: Evaluation.Outcome?
        /// What the confidences of the likeliest candidates were computed from, with and without the targets.
        package let observations: [MatchObservation]
    }

    /// The nearest entities that are observed, besides those whose local features were compared.
    private static let observedNeighbors = 6

    /// Searches for a labeled query, for an ``Evaluation``.
    ///
    /// - Parameters:
    ///   - targets: the ids of the entities that the image shows; empty if it shows none of the catalog's.
    ///   - leaveOut: whether to search once more as if the catalog did not have the targets.
    ///   - options: the limit is the number of matches to rank, more than the targets there are; the effort, the crops
    ///     and the timings count as well.
    /// - Throws: ``CatalogError``, ``ModelError`` if the image cannot be embedded, and `CancellationError`.
    public func evaluate(
        _ image: PixelBuffer, targets: Set<String>, leaveOut: Bool = false, options: SearchOptions = SearchOptions()
    ) async throws -> EvaluatedQuery {
        let analyzed = try await executor.compute { cancellation in
            try analyze(image, options: options, cancellation: cancellation)
        }
        func outcome(
            _ targets: Set<String>, excluding excluded: Set<Int64>
        ) async throws -> (
            matches: [CatalogMatch], outcome: Evaluation.Outcome, observations: [MatchObservation]
        ) {
            let query = try await executor.compute { cancellation in
                try await self.query(
                    for: analyzed, options: options, excluding: excluded, cancellation: cancellation)
            }
            let start = ContinuousClock.now
            let places = try await ranking(
                of: query, limit: options.limit, bounds: .none, condition: options.condition, after: nil,
                recall: options.recall)
            options.timings?.add(ContinuousClock.now - start, to: .search)
            let scanned = query.scan?.nearest(without: excluded) ?? []
            // One image of each entity: another may not be what the query shows of it.
            let best = Set(
                query.verified.sorted { ($1.evidence.inliers, $0.key) < ($0.evidence.inliers, $1.key) }
                    .firstOfEachEntity(\.key).map(\.key))
            let verified = query.verified.filter { best.contains($0.key) }
            let compared = Set(verified.map(\.entity))
            let observed = scanned.filter { !compared.contains($0.entity) }.prefix(Self.observedNeighbors)
            let candidates = query.candidates.firstOfEachEntity { $0 }.map { ImageRow.entity($0) }
            let keys = places.map(\.key) + candidates + compared + observed.map(\.entity)
            let entities = try await computing { try await state().entities(for: keys) }
            let neighborDistance = model.neighborDistance(
                for: query.prints, beside: scanned.map(\.distance))
            func observation(_ key: Int64, distance: Double, evidence: MatchEvidence?) -> MatchObservation? {
                guard let id = entities[key]?.entity.id else { return nil }
                var observation = MatchObservation(
                    isRight: targets.contains(id), distance: distance, neighborDistance: neighborDistance,
                    evidence: evidence, isCompared: query.isVerified)
                observation.entity = id
                return observation
            }
            let observations =
                verified.compactMap { observation($0.entity, distance: $0.distance, evidence: $0.evidence) }
                + observed.compactMap { observation($0.entity, distance: $0.distance, evidence: nil) }
            let matches = places.compactMap { place in
                entities[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
            }
            let accepted = places.count { MatchBounds.accepted.contains($0, threshold: query.matchThreshold) }
            return (
                matches,
                Evaluation.Outcome(
                    targets: targets, ranking: matches.map { ($0.entity.id, $0.confidence) }, acceptedCount: accepted,
                    candidates: candidates.compactMap { entities[$0]?.entity.id }), observations
            )
        }
        let full = try await outcome(targets, excluding: [])
        var (withoutTargets, observations) = (Evaluation.Outcome?.none, full.observations)
        if leaveOut, !targets.isEmpty {
            let keys = try await reading { try Set(store.entities(forIDs: targets.sorted()).map(\.key)) }
            let without = try await outcome([], excluding: keys)
            withoutTargets = without.outcome
            observations += without.observations.map {
                var observation = $0
                observation.isWithoutTargets = true
                return observation
            }
        }
        return EvaluatedQuery(
            matches: full.matches, outcome: full.outcome, withoutTargets: withoutTargets, observations: observations)
    }
}
