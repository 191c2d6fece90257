import FeaturePrints
import Foundation
import VectorSearch

extension Catalog {
    /// The ranking of a query, surest first, or what follows a cursor in it.
    ///
    /// Entities that were not verified are ranked by the squared distance of their prints, which is their sort key. A
    /// verified entity has the sort key of the one that would be as likely, with the sign of the distance; so both
    /// kinds form one ranking, and the exact search can start at any cursor.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model, and ``CatalogError``.
    package func ranking(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, filter: CatalogFilter, after cursor: SearchCursor?,
        excluding excluded: Set<Int64> = []
    ) throws -> [RankedEntity] {
        try checkModel(of: query.prints)
        guard limit > 0, !query.prints.isEmpty else { return [] }
        let matrix = try currentMatrix()
        let allowed = try rows(of: matrix, passing: filter)
        let confidence = MatchConfidence(query)
        var ranked = verified(of: query, in: matrix, among: allowed, confidence)
        let verifiedKeys = Set(ranked.map(\.key))
        let last = cursor.flatMap { cursor in
            cursor.sortKey < 0
                ? nil : Neighbor(row: matrix.lastRow(upTo: cursor.key), squaredDistance: Float(cursor.sortKey))
        }
        ranked += ExactSearch(matrix.matrix)
            .nearest(
                toAnyOf: query.prints.map(\.vector), k: limit + ranked.count + excluded.count, among: allowed,
                after: last
            )
            .map { confidence.place(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
            .filter { !verifiedKeys.contains($0.key) && !excluded.contains($0.key) }
        ranked.sort { ($0.sortKey, $0.key) < ($1.sortKey, $1.key) }
        if let cursor { ranked.removeAll { ($0.sortKey, $0.key) <= (cursor.sortKey, cursor.key) } }
        return Array(ranked.prefix(limit)).filter(bounds.contains)
    }

    package func checkModel(of prints: [FeaturePrint]) throws(FeaturePrintError) {
        for print in prints where print.model != model.identity {
            throw .differentModels(model.identity, print.model)
        }
    }

    /// The verified entities that the matrix still has and the filter passes.
    private func verified(
        of query: CatalogQuery, in matrix: MappedPrintMatrix, among allowed: [Range<Int>]?,
        _ confidence: MatchConfidence
    ) -> [RankedEntity] {
        query.verified.filter { entity in
            guard let row = matrix.row(withKey: entity.key) else { return false }
            return allowed?.contains { $0.contains(row) } ?? true
        }.map(confidence.place)
    }
}

extension MatchConfidence {
    /// The place of an entity that was not verified.
    func place(key: Int64, squaredDistance: Float) -> RankedEntity {
        let distance = Double(squaredDistance.squareRoot())
        return RankedEntity(
            key: key, squaredDistance: squaredDistance, confidence: Self.probability(logOdds(distance: distance)),
            verified: nil, sortKey: Double(squaredDistance), effectiveDistance: distance + margin)
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
