import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging

/// Writes to a catalog: creates it, indexes images, removes entities.
///
/// There is one indexer per catalog at a time; the `init` of a second one throws. Indexed images are committed in small
/// batches, so a process that is killed loses only those in flight.
public final class CatalogIndexer: Sendable {
    public let model: FeaturePrintModel

    private let folder: CatalogFolder
    private let database: CatalogDatabase
    private let writer: DatabasePool
    private let lock: WriterLock
    private let thumbnailSide: Int?

    /// The default long side of thumbnails, in pixels.
    public static let defaultThumbnailSide = 256
    /// Images per thread that are decoded, embedded and committed together.
    private static let imagesPerJob = 8

    /// Opens a catalog for writing, or creates one.
    ///
    /// - Parameters:
    ///   - model: the model of a new catalog; the default model without it. An existing catalog keeps its model;
    ///     another one is an error.
    ///   - thumbnailSide: the long side of the thumbnails to store, in pixels; nil for none.
    /// - Throws: ``CatalogError``.
    public init(at url: URL, model: FeaturePrintModel? = nil, thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide)
        throws
    {
        self.thumbnailSide = thumbnailSide.map { max(1, $0) }
        let folder = CatalogFolder(url: url)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw folder.error(.unwritable((error as NSError).localizedDescription))
        }
        lock = try WriterLock(folder)
        let writer = try CatalogDatabase.makePool(folder)
        let database = CatalogDatabase(folder: folder, reader: writer)
        if let identity = try folder.mappingErrors({ try database.reader.read(CatalogDatabase.model) }) {
            self.model = try Catalog.model(of: folder, identity: identity, given: model)
        } else {
            let defaultModel = try Catalog.defaultModel()
            guard let chosen = model ?? defaultModel else { throw folder.error(.noModel) }
            if chosen.identity != defaultModel?.identity {
                try folder.mappingErrors { try chosen.fileData.write(to: folder.model, options: .atomic) }
            }
            try folder.mappingErrors {
                try writer.write { db in
                    try Setting.modelName.write(chosen.identity.name, db)
                    try Setting.modelDigest.write(chosen.identity.digest, db)
                    try Setting.dimension.write(String(chosen.dimension), db)
                }
            }
            self.model = chosen
        }
        self.folder = folder
        self.database = database
        self.writer = writer
    }

    /// Indexes items: new ones, and those whose image or metadata changed.
    ///
    /// An image that cannot be read is reported, and the others are indexed; its entity stays as it was.
    /// - Parameters:
    ///   - jobs: the number of threads; all cores by default.
    ///   - progress: called after every commit.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, and `CancellationError` if the task is cancelled.
    ///   What was committed stays.
    public func index(
        _ items: [IndexItem], jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        let jobs = max(1, jobs ?? availableProcessorCount)
        var report = IndexReport()
        let size = jobs * Self.imagesPerJob
        for start in stride(from: 0, to: items.count, by: size) {
            try Task.checkCancellation()
            let chunk = Array(items[start..<min(start + size, items.count)])
            try index(chunk: chunk, jobs: jobs, timings: timings, report: &report)
            progress(report)
        }
        try refreshMatrix()
        return report
    }

    private func index(
        chunk: [IndexItem], jobs: Int, timings: StageTimings?, report: inout IndexReport
    ) throws {
        let known = try records(of: chunk.map(\.entity.id))
        let readings = concurrentMap(chunk.count, threads: jobs) { index in
            read(chunk[index], known: known[chunk[index].entity.id], timings: timings)
        }
        var new: [(record: EntityRecord, image: PixelBuffer, thumbnail: Data?)] = []
        var metadataChanges: [EntityRecord] = []
        for (item, reading) in zip(chunk, readings) {
            switch reading {
            case .unchanged: report.unchanged += 1
            case .metadataChanged(let record): metadataChanges.append(record)
            case .image(let record, let image, let thumbnail): new.append((record, image, thumbnail))
            case .failed(let reason): report.problems.append(IndexProblem(origin: item.origin, reason: reason))
            }
        }
        let prints = try model.featurePrints(for: new.map(\.image), threads: jobs, timings: timings)
        try folder.mappingErrors {
            try writer.write { db in
                for record in metadataChanges { try record.update(db) }
                if !metadataChanges.isEmpty { try CatalogDatabase.raiseMetadataRevision(db) }
                for ((var record, _, thumbnail), print) in zip(new, prints) {
                    try record.save(db)
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO print (row, vector) VALUES (?, ?)",
                        arguments: [record.row, PrintBlob.data(print.vector)])
                    try write(thumbnail, of: record, db)
                }
                if !new.isEmpty { try CatalogDatabase.raiseRevision(db) }
            }
        }
        report.added += new.count { $0.record.row == nil }
        report.updated += new.count { $0.record.row != nil } + metadataChanges.count
    }

    /// Replaces the thumbnail of an entity.
    private func write(_ thumbnail: Data?, of record: EntityRecord, _ db: Database) throws {
        if let thumbnail, let thumbnailSide {
            try db.execute(
                sql: "INSERT OR REPLACE INTO thumbnail (row, side, data) VALUES (?, ?, ?)",
                arguments: [record.row, thumbnailSide, thumbnail])
        } else {
            try db.execute(sql: "DELETE FROM thumbnail WHERE row = ?", arguments: [record.row])
        }
    }

    /// The state of an item before it is embedded.
    private enum Reading: Sendable {
        case unchanged
        /// The print stays; the entity's metadata or its file stamp changes.
        case metadataChanged(EntityRecord)
        case image(EntityRecord, PixelBuffer, thumbnail: Data?)
        case failed(String)
    }

    private func read(_ item: IndexItem, known: EntityRecord?, timings: StageTimings?) -> Reading {
        let path = item.entity.image
        let stamp = FileStamp(path: path)
        if let known, let stamp, known.file == stamp, known.image == path {
            if known.entity == item.entity { return .unchanged }
            var record = EntityRecord(item.entity, file: stamp, contentHash: known.contentHash)
            record.row = known.row
            return .metadataChanged(record)
        }
        do throws(ImageError) {
            var options = model.decodingOptions
            if let side = thumbnailSide, let needed = options.neededSize {
                options.neededSize = (max(needed.width, side), max(needed.height, side))
            }
            let start = ContinuousClock.now
            let data = try ImageFile.read(path: path, limit: options.maximumByteCount)
            let hash = SHA256.hash(data)
            var record = EntityRecord(
                item.entity, file: stamp ?? FileStamp(size: Int64(data.count), modified: 0), contentHash: hash)
            record.row = known?.row
            if known?.contentHash == hash { return .metadataChanged(record) }
            let image = try PixelBuffer(decoding: data, named: path, options: options)
            timings?.add(ContinuousClock.now - start, to: .decode)
            return .image(record, image, thumbnail: try thumbnail(of: image, named: path, timings: timings))
        } catch {
            // The origin names the path already, unless it is a line of a manifest.
            return .failed(item.origin == path ? error.reason.description : error.description)
        }
    }

    private func thumbnail(of image: PixelBuffer, named path: String, timings: StageTimings?) throws(ImageError)
        -> Data?
    {
        guard let thumbnailSide else { return nil }
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .thumbnail) }
        return try Thumbnail.jpeg(of: image, longSide: thumbnailSide, named: path)
    }

    private func records(of ids: [String]) throws(CatalogError) -> [String: EntityRecord] {
        try folder.mappingErrors {
            let found = try database.reader.read { db in
                try CatalogDatabase.inParts(of: ids) { try EntityRecord.filter($0.contains(Column("id"))).fetchAll(db) }
            }
            return Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
        }
    }

    /// Removes entities.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func remove(_ ids: [String]) throws(CatalogError) {
        let known = try records(of: ids)
        let unknown = ids.filter { known[$0] == nil }
        guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
        try drop(ids)
        try refreshMatrix()
    }

    /// Removes the entities whose image no longer exists, and returns their ids. O(entities).
    public func prune() throws(CatalogError) -> [String] {
        let images = try folder.mappingErrors {
            try database.reader.read { db in
                try Row.fetchAll(db, sql: "SELECT id, image FROM entity ORDER BY row").map {
                    ($0[0] as String, $0[1] as String)
                }
            }
        }
        // Only files that do not exist, not those that cannot be read now.
        let gone = images.filter { FileStamp(path: $0.1) == nil && (errno == ENOENT || errno == ENOTDIR) }.map(\.0)
        if !gone.isEmpty {
            try drop(gone)
            try refreshMatrix()
        }
        return gone
    }

    private func drop(_ ids: [String]) throws(CatalogError) {
        try folder.mappingErrors {
            try writer.write { db in
                for id in ids { try db.execute(sql: "DELETE FROM entity WHERE id = ?", arguments: [id]) }
                try CatalogDatabase.raiseRevision(db)
            }
        }
    }

    /// Rebuilds the matrix file if it is of another revision.
    private func refreshMatrix() throws(CatalogError) {
        let revision = try folder.mappingErrors { try database.reader.read(CatalogDatabase.revision) }
        if let file = MappedPrintMatrix(folder.matrix), file.header.revision == revision { return }
        try PrintMatrixWriter(database: database).write()
    }
}
