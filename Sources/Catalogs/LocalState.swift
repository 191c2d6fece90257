import CatalogEntities
import CatalogSearch
import CatalogStore
import Compute
import FeaturePrints
import Imaging
import LocalFeatures
import Synchronization
import VectorSearch

/// One state of a catalog in a folder.
struct LocalState: CatalogState {
    let files: LocalFiles
    let mapped: MappedState
    let scans: JoinedScans

    init(_ files: LocalFiles, scans: JoinedScans) throws {
        (self.files, self.scans) = (files, scans)
        mapped = try files.state()
    }

    var matrix: MappedPrintMatrix { mapped.matrix }
    var revision: CatalogRevision { matrix.revision }
    var entityCount: Int { matrix.entityCount }
    var imageCount: Int { matrix.rowCount }

    func selection(where condition: Condition, among keys: KeySelection?) throws -> EntitySelection? {
        let all = [0..<matrix.rowCount]
        var rows = condition.isEverything ? all : try files.rows(of: matrix, where: condition)
        switch keys {
        case .only(let keys)?: rows = Self.intersection(rows, matrix.rows(ofEntities: keys))
        case .allBut(let keys)?: rows = Self.subtraction(rows, matrix.rows(ofEntities: keys))
        // Without a list the search can share a scan with others.
        case nil: if rows == all { return nil }
        }
        return EntitySelection(condition: condition, keys: keys, rows: rows)
    }

    func entities(namedBy texts: ReadTexts, check: () throws -> Void) throws -> [Int64: Double] {
        try files.store.entities(namedBy: texts, among: entityCount, check: check)
    }

    func selected(_ keys: [Int64], in selection: EntitySelection?) -> Set<Int64> {
        Set(keys.filter { contains($0, in: selection) })
    }

    private func contains(_ key: Int64, in selection: EntitySelection?) -> Bool {
        guard let row = matrix.row(withKey: key) else { return false }
        return selection?.rows.contains { $0.contains(row) } ?? true
    }

    func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: EntitySelection?, after last: RankingPlace?,
        recall: Double, cancellation: Cancellation
    ) async throws -> [NearImage] {
        let queries = prints.map(\.vector)
        let found: [Neighbor]
        if let index = mapped.index, last == nil, recall < 1 {
            found = index.nearest(
                toAnyOf: queries, k: count, recall: recall, among: selection?.rows, cancellation: cancellation)
            try cancellation.check()
        } else if selection == nil, last == nil {
            found = try await scans.nearest(
                toAnyOf: queries, k: count, in: matrix.matrix, of: matrix, cancellation: cancellation)
        } else {
            found = ExactSearch(matrix.matrix).nearest(
                toAnyOf: queries, k: count, among: selection?.rows,
                after: last.map {
                    Neighbor(
                        row: matrix.lastRow(upTo: ImageRow.last(of: $0.entity)), squaredDistance: $0.squaredDistance)
                },
                cancellation: cancellation)
            try cancellation.check()
        }
        return found.map { NearImage(key: matrix.key($0.row), squaredDistance: $0.squaredDistance) }
    }

    func siblings(of entities: [Int64]) -> [Int64] {
        guard entityCount < imageCount else { return [] }
        return entities.map { matrix.rows(ofEntity: $0) }.filter { $0.count > 1 }.joined().map { matrix.key($0) }
    }

    func squaredDistances(of keys: [Int64], to prints: [FeaturePrint]) -> [Int64: Float] {
        let rows = keys.sorted().compactMap { matrix.row(withKey: $0) }.map { $0..<($0 + 1) }
        guard !rows.isEmpty else { return [:] }
        return ExactSearch(matrix.matrix).nearest(toAnyOf: prints.map(\.vector), k: keys.count, among: rows)
            .reduce(into: [:]) { $0[matrix.key($1.row)] = $1.squaredDistance }
    }

    func prints(of keys: [Int64]) -> [Int64: [Float]] {
        keys.reduce(into: [:]) { prints, key in
            if let row = matrix.row(withKey: key) { prints[key] = matrix.matrix.row(row) }
        }
    }

    func mostVotedImages(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) -> [Int64] {
        guard let lists = mapped.lists else { return [] }
        let voted = lists.lists.candidates(for: query.words, limit: count) { position in
            let key = lists.key(position)
            return !excluded.contains(ImageRow.entity(key)) && (selection == nil || contains(key, in: selection))
        }
        return voted.map { lists.key($0.image) }
    }

    func localFeatures(of keys: [Int64]) throws -> [(key: Int64, features: LocalFeatures)] {
        try files.store.localFeatures(forKeys: keys)
    }

    func thumbnails(of keys: [Int64]) throws -> [Int64: PixelBuffer] {
        try keys.reduce(into: [:]) { thumbnails, key in
            thumbnails[key] = try files.store.storedThumbnail(forKey: key).flatMap { try? PixelBuffer(decoding: $0) }
        }
    }

    func keys(changedSince revisions: [Int64: Int64]) throws -> Set<Int64> {
        try files.store.keys(changedSince: revisions)
    }

    func entities(for keys: [Int64]) throws -> [Int64: StoredEntity] { try files.store.entities(forKeys: keys) }

    func check() throws { try mapped.check() }

    /// What ascending disjoint ranges have in common.
    private static func intersection(_ a: [Range<Int>], _ b: [Range<Int>]) -> [Range<Int>] {
        var common: [Range<Int>] = []
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            let range = a[i].clamped(to: b[j])
            if !range.isEmpty { common.append(range) }
            if a[i].upperBound < b[j].upperBound { i += 1 } else { j += 1 }
        }
        return common
    }

    /// What ascending disjoint ranges have without others.
    private static func subtraction(_ a: [Range<Int>], _ b: [Range<Int>]) -> [Range<Int>] {
        var rest: [Range<Int>] = []
        var j = 0
        for range in a {
            var start = range.lowerBound
            while j < b.count, b[j].lowerBound < range.upperBound {
                if b[j].lowerBound > start { rest.append(start..<b[j].lowerBound) }
                start = max(start, b[j].upperBound)
                // One that goes on may cut the next range, too.
                if b[j].upperBound > range.upperBound { break }
                j += 1
            }
            if start < range.upperBound { rest.append(start..<range.upperBound) }
        }
        return rest
    }
}
