import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures

/// Writes to a catalog: creates it, indexes images, removes entities.
///
/// There is one indexer per catalog at a time; the `init` of a second one throws. Indexed images are committed in small
/// batches, so a process that is killed loses only those in flight.
public final class CatalogIndexer: Sendable {
    /// The model that images are embedded with.
    public let model: FeaturePrintModel

    private let folder: CatalogFolder
    private let database: CatalogDatabase
    private let writer: DatabasePool
    private let lock: WriterLock
    private let thumbnailSide: Int?
    /// Nil where no local features are wanted.
    private let extractor: LocalFeatureExtractor?

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
    ///   - localFeatures: whether to extract local features, which verify matches. Indexing is faster without them, and
    ///     the images that are indexed then are found by their prints alone.
    /// - Throws: ``CatalogError``.
    public init(
        at url: URL, model: FeaturePrintModel? = nil, thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide,
        localFeatures: Bool = true
    ) throws {
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
        extractor =
            try localFeatures ? Self.localFeatureModel(of: database, writer).map { LocalFeatureExtractor($0) } : nil
        self.folder = folder
        self.database = database
        self.writer = writer
    }

    /// The model of the catalog's local features; a catalog without any gets the default one.
    private static func localFeatureModel(of database: CatalogDatabase, _ writer: DatabasePool) throws
        -> LocalFeatureModel?
    {
        if let model = try Catalog.localFeatureModel(of: database) { return model }
        guard let model = try Catalog.defaultLocalFeatureModel() else { return nil }
        try database.folder.mappingErrors { try writer.write { try Setting.localFeatureModel.write(model.digest, $0) } }
        return model
    }

    /// Indexes items: new ones, those whose image or metadata changed, and those that lack local features.
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
        try refreshDerivedFiles()
        return report
    }

    private func index(
        chunk: [IndexItem], jobs: Int, timings: StageTimings?, report: inout IndexReport
    ) throws {
        let known = try records(of: chunk.map(\.entity.id))
        let readings = concurrentMap(chunk.count, threads: jobs) { index in
            read(chunk[index], known: known[chunk[index].entity.id], timings: timings)
        }
        var new: [NewImage] = []
        var metadataChanges: [EntityRecord] = []
        for (item, reading) in zip(chunk, readings) {
            switch reading {
            case .unchanged: report.unchanged += 1
            case .metadataChanged(let record): metadataChanges.append(record)
            case .image(let image): new.append(image)
            case .failed(let reason): report.problems.append(IndexProblem(origin: item.origin, reason: reason))
            }
        }
        let prints = try model.featurePrints(for: new.map(\.image), threads: jobs, timings: timings)
        try folder.mappingErrors {
            try writer.write { db in
                for record in metadataChanges { try record.update(db) }
                if !metadataChanges.isEmpty { try CatalogDatabase.raiseMetadataRevision(db) }
                for (image, print) in zip(new, prints) {
                    var record = image.record
                    try record.save(db)
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO print (row, vector) VALUES (?, ?)",
                        arguments: [record.row, PrintBlob.data(print.vector)])
                    try write(image.thumbnail, of: record, db)
                    try write(image.features, of: record, db)
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

    /// Replaces the local features of an entity.
    private func write(_ features: LocalFeatures?, of record: EntityRecord, _ db: Database) throws {
        if let features {
            try db.execute(
                sql: "INSERT OR REPLACE INTO localFeatures (row, data) VALUES (?, ?)",
                arguments: [record.row, features.encoded])
        } else {
            try db.execute(sql: "DELETE FROM localFeatures WHERE row = ?", arguments: [record.row])
        }
    }

    /// A decoded image with all that is stored of it except its print.
    private struct NewImage: Sendable {
        let record: EntityRecord
        let image: PixelBuffer
        let thumbnail: Data?
        let features: LocalFeatures?
    }

    /// An entity as stored.
    private struct Known {
        let record: EntityRecord
        /// Whether everything that this indexer extracts is there.
        let isComplete: Bool
    }

    /// The state of an item before it is embedded.
    private enum Reading: Sendable {
        case unchanged
        /// The print stays; the entity's metadata or its file stamp changes.
        case metadataChanged(EntityRecord)
        case image(NewImage)
        case failed(String)
    }

    private func read(_ item: IndexItem, known entity: Known?, timings: StageTimings?) -> Reading {
        let path = item.entity.image
        let stamp = FileStamp(path: path)
        let (known, isComplete) = (entity?.record, entity?.isComplete ?? false)
        if let known, let stamp, isComplete, known.file == stamp, known.image == path {
            if known.entity == item.entity { return .unchanged }
            var record = EntityRecord(item.entity, file: stamp, contentHash: known.contentHash)
            record.row = known.row
            return .metadataChanged(record)
        }
        do throws(ImageError) {
            let options = decodingOptions
            let start = ContinuousClock.now
            let data = try ImageFile.read(path: path, limit: options.maximumByteCount)
            let hash = SHA256.hash(data)
            var record = EntityRecord(
                item.entity, file: stamp ?? FileStamp(size: Int64(data.count), modified: 0), contentHash: hash)
            record.row = known?.row
            if isComplete, known?.contentHash == hash { return .metadataChanged(record) }
            let image = try PixelBuffer(decoding: data, named: path, options: options)
            timings?.add(ContinuousClock.now - start, to: .decode)
            let thumbnail = try thumbnail(of: image, named: path, timings: timings)
            let featureStart = ContinuousClock.now
            let features = extractor.map { $0.features(of: image) }
            if features != nil { timings?.add(ContinuousClock.now - featureStart, to: .features) }
            return .image(NewImage(record: record, image: image, thumbnail: thumbnail, features: features))
        } catch {
            // The origin names the path already, unless it is a line of a manifest.
            return .failed(item.origin == path ? error.reason.description : error.description)
        }
    }

    /// Decodes no more of a large JPEG file than the print, the thumbnail and the local features need.
    private var decodingOptions: DecodingOptions {
        var options = model.decodingOptions
        // Features are detected in larger images than this; 1.5 times as many pixels are decoded anyway.
        let side = max(thumbnailSide ?? 0, extractor == nil ? 0 : LocalFeatureExtractor.Detail.catalog.longSide * 2 / 3)
        if let needed = options.neededSize { options.neededSize = (max(needed.width, side), max(needed.height, side)) }
        return options
    }

    private func thumbnail(of image: PixelBuffer, named path: String, timings: StageTimings?) throws(ImageError)
        -> Data?
    {
        guard let thumbnailSide else { return nil }
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .thumbnail) }
        return try Thumbnail.jpeg(of: image, longSide: thumbnailSide, named: path)
    }

    private func records(of ids: [String]) throws(CatalogError) -> [String: Known] {
        try folder.mappingErrors {
            let found = try database.reader.read { db in
                try CatalogDatabase.inParts(of: ids) { ids in
                    let request: SQLRequest<Row> = """
                        SELECT entity.*, localFeatures.row IS NOT NULL AS hasFeatures \
                        FROM entity LEFT JOIN localFeatures USING (row) WHERE entity.id IN \(ids)
                        """
                    return try request.fetchAll(db).map { row in
                        Known(record: try EntityRecord(row: row), isComplete: extractor == nil || row["hasFeatures"])
                    }
                }
            }
            return Dictionary(uniqueKeysWithValues: found.map { ($0.record.id, $0) })
        }
    }

    /// Removes entities.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func remove(_ ids: [String]) throws {
        let known = try records(of: ids)
        let unknown = ids.filter { known[$0] == nil }
        guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
        try drop(ids)
        try refreshDerivedFiles()
    }

    /// Removes the entities whose image no longer exists, and returns their ids. O(entities).
    public func prune() throws -> [String] {
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
            try refreshDerivedFiles()
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

    /// Rebuilds the derived files that are of another revision.
    private func refreshDerivedFiles() throws {
        let revision = try folder.mappingErrors { try database.reader.read(CatalogDatabase.revision) }
        if MappedPrintMatrix(folder.matrix)?.header.revision != revision {
            try PrintMatrixWriter(database: database).write()
        }
        if let model = try Catalog.localFeatureModel(of: database),
            MappedInvertedLists(folder.invertedLists)?.header.revision != revision
        {
            try InvertedListsWriter(database: database, model: model).write()
        }
    }
}
