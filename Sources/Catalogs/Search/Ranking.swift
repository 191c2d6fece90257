import Compute
import FeaturePrints
import Foundation

/// An entity's place in the ranking of a query, before anything is read of the entity.
package struct RankedEntity: Sendable {
    /// The entity's row in the database.
    package let key: Int64
    package let squaredDistance: Float
    /// 0...1.
    package let confidence: Double
    /// Nil if local features did not verify the entity.
    package let verified: VerifiedEntity?
    /// Ascending; see ``Catalog/ranking(of:limit:bounds:condition:after:among:)``.
    package let sortKey: Double
    /// The distance at which a print alone would be as sure. Negative for an entity that is surer than any print.
    package let effectiveDistance: Double
}

extension Catalog {
    /// The ranking of a query, surest first, or what follows a cursor in it.
    ///
    /// Entities that were not verified are ranked by the squared distance of their prints, which is their sort key. A
    /// verified entity has the sort key of the one that would be as likely, with the sign of the distance; so both
    /// kinds form one ranking, and the exact search can start at any cursor. Searches in flight share one pass over
    /// the prints where that is faster.
    ///
    /// - Parameters:
    ///   - limit: any number; more than there are entities is all of them.
    ///   - keys: the entities to rank, of those that satisfy the condition; all of them by default.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model; ``CatalogError``; and
    ///   `CancellationError`.
    package func ranking(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, condition: Condition, after cursor: SearchCursor?,
        among keys: KeySelection? = nil
    ) async throws -> [RankedEntity] {
        let excluded = query.excluded
        return try await scans.countingSearch {
            try await executor.compute { cancellation in
                for print in query.prints { try model.check(print) }
                guard limit > 0, !query.prints.isEmpty else { return [] }
                let state = try state()
                let selection = try await state.selection(where: condition, among: keys)
                let confidence = query.confidence
                let verified = try await Self.verified(of: query, in: state, selection).map(confidence.place)
                // Larger limits could overflow when they are added to.
                let limit = min(limit, state.entityCount)
                let count = limit + verified.count + excluded.count
                let last = cursor.flatMap { cursor in
                    cursor.sortKey < 0
                        ? nil : NearEntity(key: cursor.key, squaredDistance: Float(cursor.sortKey))
                }
                // What the query's first stage found needs no other scan.
                let known = last == nil ? query.scan?.nearest(count, at: state.revision, in: selection) : nil
                let found: [NearEntity]
                if let known {
                    found = known
                } else {
                    found = try await state.nearest(
                        count, to: query.prints, in: selection, after: last, cancellation: cancellation)
                }
                let verifiedKeys = Set(verified.map(\.key))
                var ranked = verified.filter { !excluded.contains($0.key) }
                ranked += found.filter { !verifiedKeys.contains($0.key) && !excluded.contains($0.key) }
                    .map(confidence.place)
                ranked.sort { ($0.sortKey, $0.key) < ($1.sortKey, $1.key) }
                try state.check()
                if let cursor { ranked.removeAll { ($0.sortKey, $0.key) <= (cursor.sortKey, cursor.key) } }
                // In a ranking that mixes verified entities with others, those within a distance are not the first.
                return Array(
                    ranked.lazy.filter { bounds.contains($0, threshold: query.matchThreshold) }.prefix(limit))
            }
        }
    }

    /// The verified entities that the state still has, with the same image, and that are selected.
    private static func verified(
        of query: CatalogQuery, in state: any CatalogState, _ selection: EntitySelection?
    ) async throws -> [VerifiedEntity] {
        let earlier = Dictionary(
            query.verified.map { ($0.key, $0.revision) }.filter { $0.1 < state.revision.number }, uniquingKeysWith: min)
        let changed = earlier.isEmpty ? [] : try await state.keys(changedSince: earlier)
        return query.verified.filter { !changed.contains($0.key) && state.contains($0.key, in: selection) }
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

    /// The place of an entity that was not verified.
    func place(_ entity: NearEntity) -> RankedEntity {
        RankedEntity(
            key: entity.key, squaredDistance: entity.squaredDistance,
            confidence: Self.probability(logOdds(distance: entity.distance)), verified: nil,
            sortKey: Double(entity.squaredDistance),
            effectiveDistance: effectiveDistance(squaredDistance: entity.squaredDistance))
    }

    /// The place of an entity whose local features were compared.
    func place(_ entity: VerifiedEntity) -> RankedEntity {
        let odds = coefficients.logOdds(entity.evidence, distance: entity.distance, threshold: threshold)
        let asPrint = self.distance(logOdds: odds)
        // As a float, like the squared distances that it is sorted among, so that cursors are exact.
        let sortKey = Double(Float(asPrint * abs(asPrint)))
        return RankedEntity(
            key: entity.key, squaredDistance: entity.squaredDistance, confidence: Self.probability(odds),
            verified: entity, sortKey: sortKey, effectiveDistance: asPrint + margin)
    }
}

/// The confidence of matches: the probability that the query shows the entity, by logistic regression.
///
/// The model file has the coefficients (``ConfidenceCoefficients``), and the model card the data that they were fitted
/// to.
struct MatchConfidence: Sendable {
    let coefficients: ConfidenceCoefficients
    /// The match threshold of the query.
    let threshold: Double
    /// How much smaller than the threshold the distance of an entity has to be that was not verified.
    let margin: Double
    /// The log odds of such an entity per unit of distance.
    private let perDistance: Double

    /// - Parameters:
    ///   - verified: all entities of the query that were verified.
    ///   - isVerified: whether the local features of the query were compared.
    init(
        _ coefficients: ConfidenceCoefficients, threshold: Double, verified: [VerifiedEntity], isVerified: Bool
    ) {
        (self.coefficients, self.threshold) = (coefficients, threshold)
        perDistance = isVerified ? coefficients.perUnverifiedDistance : coefficients.perDistance
        // A verified entity explains the prints of the query: what is less near merely resembles it.
        let explained = verified.filter {
            coefficients.logOdds($0.evidence, distance: $0.distance, threshold: threshold) > 0
        }.map(\.distance).min()
        margin = max(
            isVerified ? coefficients.unverifiedMargin : 0, explained.map { threshold - $0 } ?? -.infinity)
    }

    /// The log odds of an entity by its print alone.
    func logOdds(distance: Double) -> Double { perDistance * (threshold - distance - margin) }

    /// The distance at which a print alone has these log odds; negative if none has.
    func distance(logOdds: Double) -> Double { threshold - margin - logOdds / perDistance }

    /// 0...1.
    static func probability(_ logOdds: Double) -> Double { 1 / (1 + exp(-logOdds)) }
}
