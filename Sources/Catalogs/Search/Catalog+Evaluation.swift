import Compute
import FeaturePrints
import Imaging
import VectorSearch

extension Catalog {
    /// The answers to a labeled query, with and without its targets in the catalog.
    public struct EvaluatedQuery: Sendable {
        /// Matches, surest first, whether accepted or not.
        public let matches: [CatalogMatch]
        /// The outcome with the whole catalog.
        public let outcome: Evaluation.Outcome
        /// The outcome if the catalog lacked the targets; nil unless wanted, and for a query without a target.
        public let withoutTargets: Evaluation.Outcome?
    }

    /// Searches for a labeled query, for an ``Evaluation``.
    ///
    /// - Parameters:
    ///   - targets: the ids of the entities that the image shows; empty if it shows none of the catalog's.
    ///   - limit: matches to rank; more than the targets there are.
    ///   - leaveOut: whether to search once more as if the catalog did not have the targets.
    /// - Throws: ``CatalogError``, ``ModelError`` if the image cannot be embedded, and `CancellationError`.
    public func evaluate(
        _ image: PixelBuffer, targets: Set<String>, limit: Int = 10, effort: SearchEffort = .standard,
        crops: QueryCrops? = nil, leaveOut: Bool = false, timings: StageTimings? = nil
    ) async throws -> EvaluatedQuery {
        let analyzed = try await executor.compute { cancellation in
            try analyze(image, effort: effort, crops: crops, timings: timings, cancellation: cancellation)
        }
        func outcome(_ targets: Set<String>, excluding excluded: Set<Int64>) async throws -> (
            [CatalogMatch], Evaluation.Outcome
        ) {
            let query = try await executor.compute { cancellation in
                try await self.query(
                    for: analyzed, filter: CatalogFilter(), excluding: excluded, timings: timings,
                    cancellation: cancellation)
            }
            let start = ContinuousClock.now
            let places = try await joinedRanking(
                of: query, limit: limit, bounds: .none, filter: CatalogFilter(), after: nil, excluding: excluded)
            timings?.add(ContinuousClock.now - start, to: .search)
            let keys = places.map(\.key) + query.candidates
            let records = try await reading { try self.records(for: keys) }
            let matches = places.compactMap { place in
                records[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
            }
            let accepted = places.count { MatchBounds.accepted.contains($0, threshold: query.matchThreshold) }
            return (
                matches,
                Evaluation.Outcome(
                    targets: targets, ranking: matches.map { ($0.entity.id, $0.confidence) }, acceptedCount: accepted,
                    candidates: query.candidates.compactMap { records[$0]?.entity.id })
            )
        }
        let (matches, full) = try await outcome(targets, excluding: [])
        guard leaveOut, !targets.isEmpty else {
            return EvaluatedQuery(matches: matches, outcome: full, withoutTargets: nil)
        }
        let records = try await reading { try self.records(forIDs: targets.sorted()) }
        let keys = Set(records.map(\.key))
        return EvaluatedQuery(
            matches: matches, outcome: full, withoutTargets: try await outcome([], excluding: keys).1)
    }
}
