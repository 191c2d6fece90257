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
                let confidence = MatchConfidence(query)
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
        MatchConfidence(self).effectiveDistance(squaredDistance: squaredDistance)
    }
}

extension MatchConfidence {
    func effectiveDistance(squaredDistance: Float) -> Double { Double(squaredDistance).squareRoot() + margin }

    /// The place of an entity that was not verified.
    func place(_ entity: NearEntity) -> RankedEntity {
        let distance = Double(entity.squaredDistance.squareRoot())
        return RankedEntity(
            key: entity.key, squaredDistance: entity.squaredDistance,
            confidence: Self.probability(logOdds(distance: distance)), verified: nil,
            sortKey: Double(entity.squaredDistance),
            effectiveDistance: effectiveDistance(squaredDistance: entity.squaredDistance))
    }

    /// The place of a verified entity: at least as good as without its inliers.
    func place(_ entity: VerifiedEntity) -> RankedEntity {
        let distance = Double(entity.squaredDistance.squareRoot())
        let odds = max(
            logOdds(evidence: entity.evidence, rectifiedDistance: entity.rectifiedDistance),
            logOdds(distance: distance))
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
/// A verified entity is judged by the inliers that it alone explains and by the print of the crop that its outline
/// rectifies; any other by how far its print is within the match threshold. The coefficients were fitted to real
/// photographs and simulated captures, with and without their targets in the catalog; the model card has the data and
/// the cross-validation.
struct MatchConfidence {
    /// The match threshold of the query.
    let threshold: Double
    /// Whether the local features of the query were compared.
    let isVerified: Bool

    /// Log odds per inlier, up to the largest count that adds any, and per unit of distance.
    private static let perInlier = 0.93
    static let mostInliers = 25.0
    private static let perRectifiedDistance = -10.9
    private static let verifiedBias = -4.8
    /// Larger distances carry no further evidence: windows over a wallpaper, or a thumb on a cover, make any distance
    /// large. Also stands for the distance of a crop that was not embedded.
    private static let largestDistance = 0.75

    /// Log odds per unit of distance within the match threshold.
    private static let perDistance = 8.0
    /// How much smaller the distance has to be if its entity was not verified although local features were compared.
    private static let unverifiedMargin = 0.3

    init(_ query: CatalogQuery) {
        threshold = query.matchThreshold ?? 2
        isVerified = query.isVerified
    }

    /// The log odds of a verified entity.
    func logOdds(evidence: Double, rectifiedDistance: Double?) -> Double {
        Self.verifiedBias + Self.perInlier * min(evidence, Self.mostInliers)
            + Self.perRectifiedDistance * min(rectifiedDistance ?? .infinity, Self.largestDistance)
    }

    /// The log odds of an entity by its print alone.
    func logOdds(distance: Double) -> Double { Self.perDistance * (threshold - distance - margin) }

    /// The distance at which a print alone has these log odds; negative if none has.
    func distance(logOdds: Double) -> Double { threshold - margin - logOdds / Self.perDistance }

    var margin: Double { isVerified ? Self.unverifiedMargin : 0 }

    /// 0...1.
    static func probability(_ logOdds: Double) -> Double { 1 / (1 + exp(-logOdds)) }
}
