import Compute
import FeaturePrints
import Foundation
import GRDB
import VectorSearch

extension Catalog {
    /// The ranking of a query, surest first, or what follows a cursor in it.
    ///
    /// Entities that were not verified are ranked by the squared distance of their prints, which is their sort key. A
    /// verified entity has the sort key of the one that would be as likely, with the sign of the distance; so both
    /// kinds form one ranking, and the exact search can start at any cursor.
    /// - Parameter selection: the entities to rank, of those that pass the filter; all of them by default.
    /// - Throws: `FeaturePrintError` if the query was embedded with another model, and ``CatalogError``.
    /// - Parameter limit: any number; more than there are entities is all of them.
    package func ranking(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, filter: CatalogFilter, after cursor: SearchCursor?,
        excluding excluded: Set<Int64> = [], among selection: KeySelection? = nil, cancellation: Cancellation = .none
    ) throws -> [RankedEntity] {
        guard
            let plan = try rankingPlan(
                of: query, limit: limit, filter: filter, after: cursor, excluding: excluded, among: selection)
        else { return [] }
        let found =
            plan.known
            ?? ExactSearch(plan.matrix.matrix).nearest(
                toAnyOf: query.prints.map(\.vector), k: plan.k, among: plan.allowed, after: plan.last,
                cancellation: cancellation)
        try cancellation.check()
        return try plan.ranking(with: found, bounds: bounds, in: folder)
    }

    /// The same on the catalog's executor, and in one pass over the prints with other searches where that is faster.
    package func joinedRanking(
        of query: CatalogQuery, limit: Int, bounds: MatchBounds, filter: CatalogFilter, after cursor: SearchCursor?,
        excluding excluded: Set<Int64> = []
    ) async throws -> [RankedEntity] {
        try await scans.countingSearch {
            try await executor.compute { cancellation in
                guard
                    let plan = try rankingPlan(
                        of: query, limit: limit, filter: filter, after: cursor, excluding: excluded)
                else { return [] }
                if let known = plan.known { return try plan.ranking(with: known, bounds: bounds, in: folder) }
                let found = try await nearest(
                    toAnyOf: query.prints, k: plan.k, in: plan.matrix, among: plan.allowed, after: plan.last,
                    cancellation: cancellation)
                return try plan.ranking(with: found, bounds: bounds, in: folder)
            }
        }
    }

    /// The rows of the matrix nearest to any of the prints; with other searches in one pass where that is faster.
    func nearest(
        toAnyOf prints: [FeaturePrint], k: Int, in matrix: MappedPrintMatrix, among allowed: [Range<Int>]?,
        after last: Neighbor? = nil, cancellation: Cancellation
    ) async throws -> [Neighbor] {
        let queries = prints.map(\.vector)
        if allowed == nil, last == nil {
            return try await scans.nearest(toAnyOf: queries, k: k, in: matrix, cancellation: cancellation)
        }
        let found = ExactSearch(matrix.matrix).nearest(
            toAnyOf: queries, k: k, among: allowed, after: last, cancellation: cancellation)
        try cancellation.check()
        return found
    }

    /// Nil for a ranking of nothing.
    private func rankingPlan(
        of query: CatalogQuery, limit: Int, filter: CatalogFilter, after cursor: SearchCursor?,
        excluding excluded: Set<Int64>, among selection: KeySelection? = nil
    ) throws -> RankingPlan? {
        for print in query.prints { try model.check(print) }
        guard limit > 0, !query.prints.isEmpty else { return nil }
        let matrix = try currentMatrix()
        var allowed = try rows(of: matrix, passing: filter)
        if let selection { allowed = selection.rows(of: matrix, among: allowed ?? [0..<matrix.matrix.rowCount]) }
        let confidence = MatchConfidence(query)
        return RankingPlan(
            matrix: matrix, allowed: allowed, scan: query.scan, confidence: confidence, threshold: query.matchThreshold,
            verified: try verified(of: query, in: matrix, among: allowed, confidence),
            // Larger limits could overflow when they are added to.
            limit: min(limit, matrix.rowCount), cursor: cursor, excluded: excluded)
    }

    /// The verified entities that the matrix still has, with the same image, and the filter passes.
    private func verified(
        of query: CatalogQuery, in matrix: MappedPrintMatrix, among allowed: [Range<Int>]?,
        _ confidence: MatchConfidence
    ) throws -> [RankedEntity] {
        let changed = try keys(ofChangedAmong: query.verified, at: matrix.header.revision.number)
        return query.verified.filter { entity in
            guard !changed.contains(entity.key), let row = matrix.row(withKey: entity.key) else { return false }
            return allowed?.contains { $0.contains(row) } ?? true
        }.map(confidence.place)
    }

    /// The entities that have another image than when they were verified.
    private func keys(ofChangedAmong verified: [VerifiedEntity], at revision: Int64) throws -> Set<Int64> {
        let known = Dictionary(
            verified.compactMap { entity in entity.revision.map { (entity.key, $0) } }.filter { $0.1 < revision },
            uniquingKeysWith: min)
        guard !known.isEmpty else { return [] }
        return try folder.mappingErrors {
            try database.reader.read { db in
                let rows = try CatalogDatabase.inParts(of: Array(known.keys)) { keys in
                    let request: SQLRequest<Row> = "SELECT row, revision FROM checksum WHERE row IN \(keys)"
                    return try request.fetchAll(db)
                }
                return Set(
                    try rows.compactMap { row -> Int64? in
                        let (key, latest): (Int64, Int64) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
                        return known[key].map { $0 < latest } ?? false ? key : nil
                    })
            }
        }
    }
}

/// What a ranking is made of, besides the rows with the nearest prints.
private struct RankingPlan {
    let matrix: MappedPrintMatrix
    /// Nil for all rows.
    let allowed: [Range<Int>]?
    /// What the query's first stage found.
    let scan: PrintScan?
    let confidence: MatchConfidence
    let threshold: Double?
    let verified: [RankedEntity]
    let limit: Int
    let cursor: SearchCursor?
    let excluded: Set<Int64>

    /// The rows to find.
    var k: Int { limit + verified.count + excluded.count }

    /// The rows start after this one.
    var last: Neighbor? {
        cursor.flatMap { cursor in
            cursor.sortKey < 0
                ? nil : Neighbor(row: matrix.lastRow(upTo: cursor.key), squaredDistance: Float(cursor.sortKey))
        }
    }

    /// The rows to find, if the query's first stage found them already.
    var known: [Neighbor]? { last == nil ? scan?.nearest(k, in: matrix, among: allowed) : nil }

    func ranking(
        with found: [Neighbor], bounds: MatchBounds, in folder: CatalogFolder
    ) throws(CatalogError) -> [RankedEntity] {
        let verifiedKeys = Set(verified.map(\.key))
        var ranked = verified.filter { !excluded.contains($0.key) }
        ranked += found.map { confidence.place(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
            .filter { !verifiedKeys.contains($0.key) && !excluded.contains($0.key) }
        ranked.sort { ($0.sortKey, $0.key) < ($1.sortKey, $1.key) }
        try matrix.checkIsUnchanged(in: folder)
        if let cursor { ranked.removeAll { ($0.sortKey, $0.key) <= (cursor.sortKey, cursor.key) } }
        // Of a ranking that mixes verified entities with others, those within a distance are not the first.
        return Array(ranked.lazy.filter { bounds.contains($0, threshold: threshold) }.prefix(limit))
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
    func place(key: Int64, squaredDistance: Float) -> RankedEntity {
        let distance = Double(squaredDistance.squareRoot())
        return RankedEntity(
            key: key, squaredDistance: squaredDistance, confidence: Self.probability(logOdds(distance: distance)),
            verified: nil, sortKey: Double(squaredDistance),
            effectiveDistance: effectiveDistance(squaredDistance: squaredDistance))
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
