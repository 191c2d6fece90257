import Compute
import FeaturePrints
import LocalFeatures
import Synchronization
import VectorSearch

/// The files of a catalog in a folder that searches read: the database, the matrix of prints and the inverted lists.
final class LocalFiles: Sendable {
    let store: EntityStore
    let matrix: OpenDerivedFile<MappedPrintMatrix>
    /// Nil in a catalog without local features.
    let lists: OpenDerivedFile<MappedInvertedLists>?
    let scans: JoinedScans
    let invertedFile: OpenInvertedFile
    private let filtered = Mutex<FilteredRows?>(nil)

    init(
        store: EntityStore, model: FeaturePrintModel, localFeatureModel: LocalFeatureModel?, scans: JoinedScans
    ) throws {
        self.store = store
        self.scans = scans
        invertedFile = OpenInvertedFile(DerivedFileStore(entities: store, source: model))
        matrix = try OpenDerivedFile(DerivedFileStore(entities: store, source: model))
        lists = try localFeatureModel.map { try OpenDerivedFile(DerivedFileStore(entities: store, source: $0)) }
    }

    /// The newest state that there are files of.
    func state() throws -> LocalState {
        let matrix = try matrix.current()
        let invertedFile = invertedFile.current()
        return LocalState(
            files: self, matrix: matrix, lists: try lists?.current(), invertedFile: invertedFile,
            index: invertedFile?.index(of: matrix))
    }

    /// The rows of the matrix that a condition selects, kept from one search to the next: the pages of a search share
    /// theirs.
    private struct FilteredRows: Sendable {
        let condition: Condition
        let revision: CatalogRevision
        let metadataRevision: Int64
        let rows: [Range<Int>]
    }

    /// The rows of the matrix whose entities satisfy the condition. O(entities) for another condition than the last
    /// one.
    fileprivate func rows(of matrix: MappedPrintMatrix, where condition: Condition) throws -> [Range<Int>] {
        let kept = filtered.withLock { $0 }.flatMap { kept in
            kept.condition.isIdentical(to: condition) && kept.revision == matrix.header.revision ? kept : nil
        }
        let (metadataRevision, entities) = try store.keys(where: condition, unlessAt: kept?.metadataRevision)
        guard let entities else { return kept?.rows ?? [] }
        let rows = matrix.rows(ofEntities: entities)
        try matrix.checkIsUnchanged(in: store.folder)
        filtered.withLock {
            $0 = FilteredRows(
                condition: condition, revision: matrix.header.revision, metadataRevision: metadataRevision, rows: rows)
        }
        return rows
    }
}

/// One state of a catalog in a folder.
struct LocalState: CatalogState {
    let files: LocalFiles
    let matrix: MappedPrintMatrix
    /// Nil in a catalog without local features.
    let lists: MappedInvertedLists?
    let invertedFile: MappedInvertedFile?
    /// Nil in a catalog without an inverted file of this state.
    let index: InvertedFileIndex?

    var revision: CatalogRevision { matrix.header.revision }
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
        if let index, last == nil, recall < 1, count <= Self.largestApproximateCount {
            found = index.nearest(
                toAnyOf: queries, k: count, recall: recall, among: selection?.rows, cancellation: cancellation)
            try cancellation.check()
        } else if selection == nil, last == nil {
            found = try await files.scans.nearest(toAnyOf: queries, k: count, in: matrix, cancellation: cancellation)
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

    /// Longer rankings are exact: they are read to the end.
    private static let largestApproximateCount = 1000

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

    func mostVoted(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) -> [Int64] {
        guard let lists else { return [] }
        // Several images of an entity may be among those with most votes.
        let limit = entityCount < imageCount ? count * Self.votedImagesPerEntity : count
        let voted = lists.lists.candidates(for: query.words, limit: limit) { position in
            let key = lists.key(position)
            return !excluded.contains(ImageRow.entity(key)) && (selection == nil || contains(key, in: selection))
        }
        return Array(voted.map { lists.key($0.image) }.firstOfEachEntity { $0 }.prefix(count))
    }

    private static let votedImagesPerEntity = 4

    func localFeatures(of keys: [Int64]) throws -> [(key: Int64, features: LocalFeatures)] {
        try files.store.localFeatures(forKeys: keys)
    }

    func keys(changedSince revisions: [Int64: Int64]) throws -> Set<Int64> {
        try files.store.keys(changedSince: revisions)
    }

    func entities(for keys: [Int64]) throws -> [Int64: StoredEntity] { try files.store.entities(forKeys: keys) }

    func check() throws {
        try matrix.checkIsUnchanged(in: files.store.folder)
        try lists?.checkIsUnchanged(in: files.store.folder)
        try invertedFile?.checkIsUnchanged(in: files.store.folder)
    }

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
