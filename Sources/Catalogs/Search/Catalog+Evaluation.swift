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
        let analyzed = try analyze(image, effort: effort, crops: crops, timings: timings)
        func outcome(_ targets: Set<String>, excluding excluded: Set<Int64>) throws -> (
            [CatalogMatch], Evaluation.Outcome
        ) {
            let query = try query(for: analyzed, filter: CatalogFilter(), excluding: excluded, timings: timings)
            let places = try measured(timings, .search) {
                try ranking(
                    of: query, limit: limit, bounds: .none, filter: CatalogFilter(), after: nil, excluding: excluded)
            }
            let records = try records(for: places.map(\.key) + query.candidates)
            let matches = places.compactMap { place in
                records[place.key].map { CatalogMatch(entity: $0.entity, place: place) }
            }
            let accepted = places.count { MatchBounds.accepted.contains($0) }
            return (
                matches,
                Evaluation.Outcome(
                    targets: targets, ranking: matches.map { ($0.entity.id, $0.confidence) }, acceptedCount: accepted,
                    candidates: query.candidates.compactMap { records[$0]?.entity.id })
            )
        }
        let (matches, full) = try outcome(targets, excluding: [])
        guard leaveOut, !targets.isEmpty else {
            return EvaluatedQuery(matches: matches, outcome: full, withoutTargets: nil)
        }
        let keys = Set(try self.records(forIDs: targets.sorted()).map(\.key))
        return EvaluatedQuery(matches: matches, outcome: full, withoutTargets: try outcome([], excluding: keys).1)
    }
}
