import Digests
public import Foundation
public import Lookalike
import SwiftProtobuf

/// What a push or a pull did, of rows: an image each.
public struct CopyReport: Sendable, Equatable {
    /// Rows that were written.
    public var written = 0
    /// Rows that were there as they should be.
    public var unchanged = 0
    /// Rows that were removed because the catalog has no such image.
    public var removed = 0
    /// What could not be copied; the rest was.
    public var problems: [IndexProblem] = []
    /// What was left out or changed.
    public var notes: [String] = []

    /// A report of nothing.
    public init() {}

    /// The rows that were looked at.
    public var processed: Int { written + unchanged }
}

/// How a collection is made. A collection that is there keeps its settings.
public struct MilvusSettings: Sendable, Hashable {
    /// How the nearest prints are found.
    public var index: MilvusIndex
    /// Whether visual words are stored, where the server has sparse vectors and the catalog local features. Without
    /// them, candidates to verify are found by their prints alone.
    public var hasWords: Bool
    /// Whether a dimension of these is a word with a part of the signature, and not a word alone: vectors are eight
    /// times as long, and votes are closer to those of a catalog in a folder.
    public var hasSignatures: Bool
    /// Whether Milvus puts entities of a type into a partition: a search among some types then reads theirs alone.
    public var isPartitionedByType: Bool

    /// Settings; each has a default.
    public init(
        index: MilvusIndex = .flat, hasWords: Bool = true, hasSignatures: Bool = true, isPartitionedByType: Bool = false
    ) {
        (self.index, self.hasWords, self.hasSignatures) = (index, hasWords, hasSignatures)
        self.isPartitionedByType = isPartitionedByType
    }
}

extension MilvusCatalog {
    private static let entitiesPerBatch = 500
    /// What a request has of rows, besides one.
    private static let bytesPerRequest = 4 << 20
    /// Entities whose rows are compared at once.
    private static let entitiesPerSpan: Int64 = 4_096
    private static let rowsPerPage = 256
    /// Shards of a collection.
    public static let mostShards = 1 << 20
    /// A shard has 2^28 rows of entities.
    fileprivate static let shardBits: Int64 = 28
    /// An image's key is the row of its entity with as many more bits for its place.
    fileprivate static let placeBits: Int64 = 14

    /// Makes a collection what a catalog is, and the collection itself if it is missing.
    ///
    /// Rows that are there already, as they should be, are only compared by their digests, so a push that was
    /// interrupted is completed by another one, and a changed catalog is pushed in the time of what changed. Rows of
    /// images that the catalog does not have are removed. Until the first push is finished, the collection is not
    /// searched; during later ones, a search may find changed images and unchanged ones beside each other.
    ///
    /// Several catalogs are pushed into one collection as its shards, each with a number of its own. A push of a shard
    /// looks at the rows of that shard alone. The ids of a shard must not be in another one: such an entity would be
    /// found twice.
    ///
    /// - Parameters:
    ///   - shard: the number of the catalog among those of the collection, below ``mostShards``; nil for the whole
    ///     collection.
    ///   - settings: those of a new collection.
    ///   - progress: called after every batch.
    /// - Throws: ``MilvusError``, for example if the collection is of other models; ``CatalogError``; and
    ///   `CancellationError`. What was written stays.
    public static func push(
        _ catalog: Catalog, to address: MilvusAddress, shard: Int? = nil, settings: MilvusSettings = MilvusSettings(),
        options: MilvusOptions = MilvusOptions(), progress: (CopyReport) -> Void = { _ in }
    ) async throws -> CopyReport {
        let client = try MilvusClient(address, options: options)
        let models = RemoteModels(prints: catalog.model.identity, localFeatures: catalog.localFeatureModelDigest)
        let stored: StoredSettings
        if let (known, _) = try await client.storedSettings() {
            guard known.models == models else {
                throw client.error(.otherModels(collection: known.models, catalog: models))
            }
            stored = known
        } else {
            let version = try await client.read(.getVersion, MilvusVersionRequest()).version
            let hasWords = settings.hasWords && models.localFeatures != nil && hasSparseVectors(version)
            stored = StoredSettings(
                prints: models.prints, localFeatures: models.localFeatures, dimension: catalog.model.dimension,
                index: settings.index,
                words: hasWords ? (settings.hasSignatures ? .signatures : .words) : nil,
                isPartitionedByType: settings.isPartitionedByType)
            try await client.create(stored)
        }
        try await client.load()
        var push = Push(client: client, settings: stored, shard: shard)
        var row: Int64?
        repeat {
            try Task.checkCancellation()
            let page = try await catalog.records(after: row, limit: entitiesPerBatch)
            push.report.problems += page.problems
            try await push.write(
                page.records, through: page.next ?? page.records.last?.row, removingOthers: page.problems.isEmpty)
            progress(push.report)
            row = page.next
        } while row != nil
        // The last entities may be damaged.
        if push.report.problems.isEmpty { try await push.removeRest() }
        try await client.write(.flush, MilvusFlushRequest.with { $0.collectionNames = [address.collection] })
        try await client.markComplete()
        return push.report
    }

    /// Milvus has sparse vectors since 2.4.
    static func hasSparseVectors(_ version: String) -> Bool {
        guard let numbers = version.firstMatch(of: /v?([0-9]+)\.([0-9]+)/)?.output,
            let major = Int(numbers.1), let minor = Int(numbers.2)
        else { return true }
        return (major, minor) >= (2, 4)
    }

    private struct Push {
        let client: MilvusClient
        let words: SparseWords?
        let hasTypes: Bool
        var report = CopyReport()
        /// What is added to the numbers of a shard's rows.
        private let offset: Int64
        /// The last row that may be one of the catalog's.
        private let end: Int64
        /// The last row that was compared.
        private var last: Int64

        init(client: MilvusClient, settings: StoredSettings, shard: Int?) {
            (self.client, hasTypes) = (client, settings.isPartitionedByType)
            words = settings.words.map(SparseWords.init)
            offset = shard.map { Int64($0) << MilvusCatalog.shardBits } ?? 0
            end = shard == nil ? .max : offset + (1 << MilvusCatalog.shardBits) - 1
            last = offset - 1
        }

        /// - Parameters:
        ///   - end: the row of the last entity of the page.
        ///   - isComplete: whether the records are all that the catalog has there. Otherwise other rows stay as they
        ///     are.
        mutating func write(
            _ records: [CatalogRecord], through end: Int64?, removingOthers isComplete: Bool
        ) async throws {
            guard let end = end.map({ $0 + offset }) else { return }
            var known: [Int64: String] = [:]
            while last < end {
                let next = min(end, last + MilvusCatalog.entitiesPerSpan)
                let entity = Field.entity.rawValue
                let columns = try await client.query(
                    "(\(entity) > \(last)) and (\(entity) <= \(next))", [.digest], consistency: .strong)
                for (key, digest) in zip(columns.numbers(.key), columns.texts(.digest)) { known[key] = digest }
                last = next
            }
            var (rows, byteCount) = ([StoredRow](), 0)
            for record in records {
                for (place, image) in record.images.enumerated() {
                    do {
                        let row = try StoredRow(
                            image, place: place, of: record, offset: offset, words: words, notes: &report.notes)
                        guard known.removeValue(forKey: row.key) != row.digest else {
                            report.unchanged += 1
                            continue
                        }
                        rows.append(row)
                        byteCount += row.byteCount
                    } catch let problem as IndexProblem {
                        known[image.key + offset << MilvusCatalog.placeBits] = nil
                        report.problems.append(problem)
                    }
                    if byteCount >= MilvusCatalog.bytesPerRequest {
                        try await upsert(rows)
                        (rows, byteCount) = ([], 0)
                    }
                }
            }
            try await upsert(rows)
            if isComplete { try await delete(known.keys.sorted()) }
        }

        mutating func removeRest() async throws {
            while true {
                let columns = try await client.query(
                    "(\(Field.entity.rawValue) > \(last)) and (\(Field.entity.rawValue) <= \(end))", [],
                    consistency: .strong, parameters: ["limit": "1000"])
                let keys = columns.numbers(.key)
                if keys.isEmpty { return }
                try await delete(keys)
            }
        }

        private mutating func upsert(_ rows: [StoredRow]) async throws {
            guard !rows.isEmpty else { return }
            let collection = client.address.collection
            let (hasWords, hasTypes) = (words != nil, hasTypes)
            try await client.write(
                .upsert,
                MilvusInsertRequest.with {
                    ($0.collectionName, $0.numRows) = (collection, UInt32(rows.count))
                    $0.fieldsData =
                        [
                            .numbers(.key, rows.map(\.key)), .numbers(.entity, rows.map(\.entity)),
                            .numbers(.place, rows.map(\.place)), .texts(.digest, rows.map(\.digest)),
                            .json(.fields, rows.map(\.fields)), .texts(.record, rows.map(\.record)),
                            .texts(.features, rows.map(\.features)), .texts(.thumbnail, rows.map(\.thumbnail)),
                            .vectors(.print, rows.map(\.print)),
                        ] + (hasWords ? [.sparse(.words, rows.map(\.words))] : [])
                        + (hasTypes ? [.texts(.type, rows.map(\.type))] : [])
                })
            report.written += rows.count
        }

        private mutating func delete(_ keys: [Int64]) async throws {
            guard !keys.isEmpty else { return }
            let collection = client.address.collection
            try await client.write(
                .delete,
                MilvusDeleteRequest.with {
                    ($0.collectionName, $0.expr) = (collection, "\(Field.key.rawValue) in \(keys)")
                })
            report.removed += keys.count
        }
    }

    // MARK: Pull

    /// Makes a catalog in a folder of the collection: one that answers as the one that was pushed.
    ///
    /// A catalog that is there gets the entities, and keeps its others. A pull that was interrupted is completed by
    /// another one.
    ///
    /// - Parameters:
    ///   - url: the folder of the catalog, which is made if it is missing.
    ///   - model: the model of the catalog, if it is not the default model.
    ///   - progress: called after every batch.
    /// - Throws: ``MilvusError``, `CatalogError`, and `CancellationError`. What was stored stays.
    public func pull(
        into url: URL, model: FeaturePrintModel? = nil, progress: (CopyReport) -> Void = { _ in }
    ) async throws -> CopyReport {
        let indexer = try CatalogIndexer(at: url, model: model, localFeatures: models.localFeatures != nil)
        guard indexer.model.identity == models.prints else {
            let given = RemoteModels(prints: indexer.model.identity, localFeatures: models.localFeatures)
            throw client.error(.otherModels(collection: models, catalog: given))
        }
        let expected = try await counts().images
        var report = CopyReport()
        var (last, rowCount) = (Int64(-1), 0)
        var open: CatalogRecord?
        func store(_ records: [CatalogRecord]) throws {
            guard !records.isEmpty else { return }
            let stored = try indexer.store(records, localFeatureModel: models.localFeatures)
            report.problems += stored.problems
            report.notes += stored.notes.map(\.description)
            report.unchanged += stored.unchanged
            report.written += stored.added + stored.updated
        }
        while true {
            try Task.checkCancellation()
            let page = try await page(after: last)
            guard let end = page.last?.key else { break }
            guard page.allSatisfy({ $0.key > last }), end > last else {
                throw client.error(.unexpectedAnswer("rows are not in the order of their keys"))
            }
            rowCount += page.count
            last = end
            var records: [CatalogRecord] = []
            for row in page {
                if row.entity != open?.row {
                    if let open { records.append(open) }
                    guard let entity = row.record.entity else {
                        throw client.error(.damaged(key: row.key, "its entity is missing"))
                    }
                    open = CatalogRecord(row: row.entity, entity: entity, images: [])
                }
                open?.images.append(row.image)
            }
            try store(records)
            progress(report)
        }
        if let open { try store([open]) }
        guard rowCount == expected else {
            throw client.error(.unexpectedAnswer("\(rowCount) of \(expected) rows; it changed meanwhile, pull again"))
        }
        try indexer.finishRecords()
        return report
    }

    private struct PulledRow {
        let key: Int64
        let entity: Int64
        let record: StoredRecord
        let image: CatalogRecord.Image
    }

    /// The rows with the next keys.
    private func page(after key: Int64) async throws -> [PulledRow] {
        let columns = try await query(
            "\(Field.key.rawValue) > \(key)", [.entity, .record, .features, .thumbnail, .print],
            // Without these, a server may return any rows.
            parameters: ["limit": "\(Self.rowsPerPage)", "iterator": "True", "reduce_stop_for_best": "True"])
        let (keys, entities) = (columns.numbers(.key), columns.numbers(.entity))
        let (records, features) = (columns.texts(.record), columns.texts(.features))
        let (thumbnails, prints) = (columns.texts(.thumbnail), columns.vectors(.print, count: keys.count))
        guard
            [entities.count, records.count, features.count, thumbnails.count, prints.count].allSatisfy({
                $0 == keys.count
            })
        else { throw client.error(.unexpectedAnswer("columns of different lengths")) }
        return try keys.indices.map { index in
            guard let record = StoredRecord(records[index]), let featureData = Data(base64Encoded: features[index]),
                let thumbnail = Data(base64Encoded: thumbnails[index])
            else { throw client.error(.damaged(key: keys[index], "its record cannot be read")) }
            return PulledRow(
                key: keys[index], entity: entities[index], record: record,
                image: CatalogRecord.Image(
                    key: keys[index], file: record.file, contentHash: record.contentHash, print: prints[index],
                    features: featureData.isEmpty ? nil : featureData,
                    thumbnail: record.thumbnailSide.map { .init(side: $0, data: thumbnail) }))
        }.sorted { $0.key < $1.key }
    }
}

/// A row of the collection.
private struct StoredRow {
    let key: Int64
    let entity: Int64
    let place: Int64
    let type: String
    let digest: String
    let fields: Data
    let record: String
    let features: String
    let thumbnail: String
    let print: [Float]
    let words: [UInt32: Float]

    var byteCount: Int {
        fields.count + record.utf8.count + features.utf8.count + thumbnail.utf8.count + 4 * print.count
            + 8 * words.count
    }

    /// - Throws: ``IndexProblem`` if Milvus has no room for it.
    init(
        _ image: CatalogRecord.Image, place: Int, of record: CatalogRecord, offset: Int64, words kind: SparseWords?,
        notes: inout [String]
    ) throws {
        let subject = "entity “\(record.entity.id)”"
        (key, entity, self.place, print) = (
            image.key + offset << MilvusCatalog.placeBits, record.row + offset, Int64(place), image.print
        )
        type = TextFolding.folded(record.entity.type ?? "")
        fields = try MilvusFilter.json(of: record.entity)
        var thumbnail = image.thumbnail
        if let data = thumbnail?.data, (data.count + 2) / 3 * 4 > Field.longestText {
            notes.append(
                "\(subject): a thumbnail of \(data.count) bytes is left out; Milvus has no room for it")
            thumbnail = nil
        }
        self.thumbnail = thumbnail?.data.base64EncodedString() ?? ""
        features = image.features?.base64EncodedString() ?? ""
        self.record = JSON.text(
            StoredRecord(entity: place == 0 ? record.entity : nil, image: image, thumbnailSide: thumbnail?.side))
        words = kind?.vector(ofImage: image.words) ?? [:]
        for (name, count) in [
            ("record", self.record.utf8.count), ("fields", fields.count), ("local features", features.utf8.count),
            ("type", type.utf8.count),
        ] where count > Field.longestText {
            throw IndexProblem(
                subject: subject, reason: "its \(name) take \(count) bytes, and Milvus has \(Field.longestText)")
        }
        guard offset == 0 || record.row < 1 << MilvusCatalog.shardBits else {
            throw IndexProblem(subject: subject, reason: "its row \(record.row) is beyond those of a shard")
        }
        var sum = SHA256()
        for part in [fields, Data(self.record.utf8), Data(features.utf8), Data(self.thumbnail.utf8)] {
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { sum.update($0) }
            sum.update(part)
        }
        image.print.map(\.bitPattern.littleEndian).withUnsafeBytes { sum.update($0) }
        digest = sum.finalize().map { String(format: "%02x", $0) }.joined()
    }
}
