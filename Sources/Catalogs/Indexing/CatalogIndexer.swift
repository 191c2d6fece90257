import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import Synchronization

/// Writes to a catalog: creates it, indexes images, removes entities.
///
/// There is one indexer per catalog at a time; the `init` of a second one throws. Indexed images are committed in small
/// batches, so a process that is killed loses only those in flight.
public final class CatalogIndexer: Sendable {
    /// The model that images are embedded with.
    public let model: FeaturePrintModel

    let folder: CatalogFolder
    let database: CatalogDatabase
    let writer: DatabasePool
    /// Where the indexer computes.
    let executor: any TaskExecutor
    /// One chunk at a time is compared with the database and committed.
    let turn = Mutex(())
    private let lock: WriterLock
    private let thumbnailSide: Int?
    /// Nil where no local features are wanted.
    private let extractor: LocalFeatureExtractor?

    /// The default long side of thumbnails, in pixels.
    public static let defaultThumbnailSide = 256
    /// Images per thread that are decoded, embedded and committed together.
    static let imagesPerJob = 8

    /// Opens a catalog for writing, or creates one.
    ///
    /// - Parameters:
    ///   - model: the model of a new catalog; the default model without it. An existing catalog keeps its model;
    ///     another one is an error.
    ///   - thumbnailSide: the long side of the thumbnails to store, in pixels; nil for none.
    ///   - localFeatures: whether to extract local features, which verify matches. Indexing is faster without them, and
    ///     the images that are indexed then are found by their prints alone.
    ///   - executor: where asynchronous methods compute; `ComputeExecutor.shared` by default.
    /// - Throws: ``CatalogError``.
    public init(
        at url: URL, model: FeaturePrintModel? = nil, thumbnailSide: Int? = CatalogIndexer.defaultThumbnailSide,
        localFeatures: Bool = true, executor: (any TaskExecutor)? = nil
    ) throws {
        self.executor = executor ?? ComputeExecutor.shared
        self.thumbnailSide = thumbnailSide.map { max(1, $0) }
        let folder = CatalogFolder(url: url)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw folder.error(.unwritable((error as NSError).localizedDescription))
        }
        lock = try WriterLock(folder)
        if (FileStamp(path: folder.database.path)?.size ?? 0) == 0 {
            try CatalogDatabase.create(folder, model: try Self.chosenModel(model, for: folder))
        }
        let writer = try CatalogDatabase.makePool(folder)
        let database = CatalogDatabase(folder: folder, reader: writer)
        if let identity = try folder.mappingErrors({ try database.reader.read(CatalogDatabase.model) }) {
            self.model = try Catalog.model(of: folder, identity: identity, given: model)
        } else {
            // An earlier version was killed while it made the catalog.
            let chosen = try Self.chosenModel(model, for: folder)
            try folder.mappingErrors { try writer.write { try CatalogDatabase.writeModel(chosen, $0) } }
            self.model = chosen
        }
        extractor =
            try localFeatures ? Self.localFeatureModel(of: database, writer).map { LocalFeatureExtractor($0) } : nil
        self.folder = folder
        self.database = database
        self.writer = writer
    }

    /// The model of a new catalog. One that is not the default model is kept in the catalog's folder.
    private static func chosenModel(_ given: FeaturePrintModel?, for folder: CatalogFolder) throws -> FeaturePrintModel
    {
        guard let chosen = try given ?? Catalog.defaultModel() else { throw folder.error(.noModel) }
        if given != nil, !Catalog.isDefault(chosen) {
            try folder.mappingErrors { try chosen.fileData.write(to: folder.model, options: .atomic) }
        }
        return chosen
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

    /// Indexes items in memory, as the method that takes the entries of a source does.
    ///
    /// - Throws: ``CatalogError``, and `CancellationError` if the task is cancelled.
    public func index(
        _ items: [IndexItem], jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        try index(IndexEntries(items), jobs: jobs, timings: timings, progress: progress)
    }

    /// Indexes the items of a source: new ones, those whose image or metadata changed, and those that lack local
    /// features.
    ///
    /// An image that cannot be read is reported, and the others are indexed; its entity stays as it was. Memory does not
    /// grow with the number of items, except for the report of problems. The calling thread is kept until all is done; a
    /// task had better use ``run(over:jobs:)``.
    /// - Parameters:
    ///   - jobs: the number of threads; all cores by default.
    ///   - progress: called after every commit.
    /// - Throws: ``CatalogError`` if the catalog cannot be written, and `CancellationError` if the task is cancelled.
    ///   What was committed stays.
    public func index(
        _ entries: IndexEntries, jobs: Int? = nil, timings: StageTimings? = nil,
        progress: (IndexReport) -> Void = { _ in }
    ) throws -> IndexReport {
        let jobs = max(1, jobs ?? availableProcessorCount)
        var report = IndexReport()
        let size = jobs * Self.imagesPerJob
        // Readers need them while this runs, even of an empty catalog.
        try turn.withLock { _ in try refreshDerivedFiles() }
        var changes = ChangesSinceRefresh()
        var chunk: [IndexItem] = []
        func commit() throws {
            try Task.checkCancellation()
            try index(chunk: chunk, jobs: jobs, timings: timings, report: &report)
            chunk.removeAll(keepingCapacity: true)
            progress(report)
            if try changes.areMany(report, in: self) { try turn.withLock { _ in try refreshDerivedFiles() } }
        }
        for entry in entries {
            switch entry {
            case .success(let item): chunk.append(item)
            case .failure(let problem): report.problems.append(problem)
            }
            if chunk.count == size { try commit() }
        }
        if !chunk.isEmpty { try commit() }
        try turn.withLock { _ in try refreshDerivedFiles() }
        return report
    }

    func index(chunk: [IndexItem], jobs: Int, timings: StageTimings?, report: inout IndexReport) throws {
        report = try turn.withLock { [report] _ in
            var report = report
            try commit(chunk, jobs: jobs, timings: timings, report: &report)
            return report
        }
    }

    private func commit(_ chunk: [IndexItem], jobs: Int, timings: StageTimings?, report: inout IndexReport) throws {
        let chunk = usable(chunk, report: &report)
        let known = try records(of: chunk.map(\.entity.id))
        let readings = concurrentMap(chunk.count, threads: jobs) { index in
            read(chunk[index], known: known[ExactText(chunk[index].entity.id)], timings: timings)
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
        var embedded = try model.featurePrints(
            for: new.compactMap(\.source.pixels), threads: jobs, timings: timings
        )[...]
        let prints = new.compactMap { image in image.source.print ?? embedded.popFirst() }
        try folder.mappingErrors {
            try writer.write { db in
                for record in metadataChanges { try record.update(db) }
                if !metadataChanges.isEmpty { try CatalogDatabase.raiseMetadataRevision(db) }
                guard !new.isEmpty else { return }
                let revision = try CatalogRevision.advance(db)
                for (image, print) in zip(new, prints) {
                    var record = image.record
                    try record.save(db)
                    let (blob, features) = (PrintBlob.data(print.vector), image.features?.encoded)
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO print (row, vector) VALUES (?, ?)",
                        arguments: [record.row, blob])
                    try write(thumbnail: image.thumbnail, of: record, db)
                    try write(features: features, of: record, db)
                    try Checksum.write(
                        row: record.row, id: record.id, revision: revision, print: blob, localFeatures: features,
                        thumbnail: thumbnailSide == nil ? nil : image.thumbnail, db)
                }
            }
        }
        report.added += new.count { $0.record.row == nil }
        report.updated += new.count { $0.record.row != nil } + metadataChanges.count
    }

    /// Without items that cannot be stored beside the others.
    private func usable(_ chunk: [IndexItem], report: inout IndexReport) -> [IndexItem] {
        var ids: Set<ExactText> = []
        return chunk.filter { item in
            let reason: String
            if item.entity.hasNUL {
                reason = "contains a NUL character"
            } else if !ids.insert(ExactText(item.entity.id)).inserted {
                reason = "has the same id “\(item.entity.id)” as an earlier item"
            } else {
                return true
            }
            report.problems.append(IndexProblem(origin: item.origin, reason: reason))
            return false
        }
    }

    /// Replaces the thumbnail of an entity.
    private func write(thumbnail: Data?, of record: EntityRecord, _ db: Database) throws {
        if let thumbnail, let thumbnailSide {
            try db.execute(
                sql: "INSERT OR REPLACE INTO thumbnail (row, side, data) VALUES (?, ?, ?)",
                arguments: [record.row, thumbnailSide, thumbnail])
        } else {
            try db.execute(sql: "DELETE FROM thumbnail WHERE row = ?", arguments: [record.row])
        }
    }

    /// Replaces the local features of an entity.
    private func write(features: Data?, of record: EntityRecord, _ db: Database) throws {
        if let features {
            try db.execute(
                sql: "INSERT OR REPLACE INTO localFeatures (row, data) VALUES (?, ?)",
                arguments: [record.row, features])
        } else {
            try db.execute(sql: "DELETE FROM localFeatures WHERE row = ?", arguments: [record.row])
        }
    }

    /// A decoded image with all that is stored of it except its print.
    private struct NewImage: Sendable {
        /// What its print is made of, or its print.
        enum Source {
            case pixels(PixelBuffer)
            case print(FeaturePrint)

            var pixels: PixelBuffer? { if case .pixels(let pixels) = self { pixels } else { nil } }
            var print: FeaturePrint? { if case .print(let print) = self { print } else { nil } }
        }

        let record: EntityRecord
        let source: Source
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

    private func read(_ item: IndexItem, known: Known?, timings: StageTimings?) -> Reading {
        if item.entity.id.isEmpty { return .failed("has no id") }
        switch item.image {
        case .file: return readFile(item, known: known, timings: timings)
        case .data(let data):
            return readMemory(item, hash: SHA256.hash(data), known: known) { () throws(ImageError) in
                let options = decodingOptions
                let image = try measured(timings, .decode) { () throws(ImageError) in
                    try PixelBuffer(decoding: data, named: item.origin, options: options)
                }
                return try newImage(image, named: item.origin, timings: timings)
            }
        case .pixels(let image):
            return readMemory(item, hash: ContentHash.of(image), known: known) { () throws(ImageError) in
                try newImage(image, named: item.origin, timings: timings)
            }
        case .print(let print):
            guard print.model == model.identity, print.vector.count == model.dimension else {
                return .failed("its print was made with model \(print.model), not with \(model.identity)")
            }
            // Without an image there is nothing to complete.
            let known = known.map { Known(record: $0.record, isComplete: true) }
            return readMemory(item, hash: ContentHash.of(print), known: known) { () throws(ImageError) in
                (.print(print), nil, nil)
            }
        }
    }

    private typealias ImageParts = (source: NewImage.Source, thumbnail: Data?, features: LocalFeatures?)

    /// What is stored of an image.
    private func newImage(
        _ image: PixelBuffer, named name: String, timings: StageTimings?
    ) throws(ImageError) -> ImageParts {
        let thumbnail = try thumbnail(of: image, named: name, timings: timings)
        let start = ContinuousClock.now
        let features = extractor.map { $0.features(of: image) }
        if features != nil { timings?.add(ContinuousClock.now - start, to: .features) }
        return (.pixels(image), thumbnail, features)
    }

    /// - Parameter makeImage: called if what is in memory is not what was indexed before.
    private func readMemory(
        _ item: IndexItem, hash: Data, known entity: Known?, makeImage: () throws(ImageError) -> ImageParts
    ) -> Reading {
        var record = EntityRecord(item.entity, file: .inMemory, contentHash: hash)
        record.row = entity?.record.row
        if let entity, entity.isComplete, entity.record.contentHash == hash {
            let isSame = entity.record.entity == item.entity && entity.record.file == .inMemory
            return isSame ? .unchanged : .metadataChanged(record)
        }
        do throws(ImageError) {
            let (source, thumbnail, features) = try makeImage()
            return .image(NewImage(record: record, source: source, thumbnail: thumbnail, features: features))
        } catch {
            return .failed(error.source == item.origin ? error.reason.description : error.description)
        }
    }

    private func readFile(_ item: IndexItem, known entity: Known?, timings: StageTimings?) -> Reading {
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
            let (source, thumbnail, features) = try newImage(image, named: path, timings: timings)
            return .image(NewImage(record: record, source: source, thumbnail: thumbnail, features: features))
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

    private func records(of ids: [String]) throws(CatalogError) -> [ExactText: Known] {
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
            return Dictionary(found.map { (ExactText($0.record.id), $0) }) { first, _ in first }
        }
    }

    /// Removes entities.
    ///
    /// - Throws: ``CatalogError``. If an id is unknown, nothing is removed.
    public func remove(_ ids: [String]) throws {
        try turn.withLock { _ in
            let known = try records(of: ids)
            let unknown = ids.filter { known[ExactText($0)] == nil }
            guard unknown.isEmpty else { throw folder.error(.unknownEntities(unknown)) }
            try drop(ids)
            try refreshDerivedFiles()
        }
    }

    /// Removes the entities whose image file no longer exists, and returns their ids. Entities that were indexed from
    /// memory stay. O(entities).
    ///
    /// An image that exists and cannot be read, or whose folder cannot be entered, is not missing.
    /// - Parameter evenIfAll: whether to remove all entities if none of their images exists. That is more often a disk
    ///   that is not mounted.
    /// - Throws: ``CatalogError``; nothing is removed then.
    public func prune(evenIfAll: Bool = false) throws -> [String] {
        let (count, gone) = try folder.mappingErrors {
            try database.reader.read { db in
                var (count, gone) = (0, [String]())
                let rows = try Row.fetchCursor(db, sql: "SELECT id, image FROM entity WHERE size >= 0 ORDER BY row")
                while let row = try rows.next() {
                    count += 1
                    if FileStamp.isMissing(row[1]) { gone.append(row[0]) }
                }
                return (count, gone)
            }
        }
        guard evenIfAll || gone.isEmpty || gone.count < count else {
            throw folder.error(.allImagesMissing(count: count))
        }
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
                try CatalogRevision.advance(db)
            }
        }
    }

    /// Makes the derived files that are of an earlier state.
    func refreshDerivedFiles() throws {
        let matrix = DerivedFileStore<MappedPrintMatrix>(database: database, source: model)
        try matrix.refresh()
        if let model = try Catalog.localFeatureModel(of: database) {
            try DerivedFileStore<MappedInvertedLists>(database: database, source: model).refresh()
        }
        // Nothing is made from earlier states any more.
        try folder.mappingErrors {
            try writer.write { db in
                if try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM revision") != 1 {
                    try CatalogRevision.current(db)?.forgetEarlier(db)
                }
            }
        }
        // So that a copy of the database file alone has everything, unless a reader still needs the log.
        try? writer.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
    }

    /// Decides when the derived files are made while a long run goes on, so that readers find what was indexed: after
    /// enough changes for the total work to stay proportional to the entities.
    private struct ChangesSinceRefresh {
        private var atLastRefresh = 0
        private static let fewest = 4096

        mutating func areMany(_ report: IndexReport, in indexer: CatalogIndexer) throws -> Bool {
            let changes = report.added + report.updated
            guard changes - atLastRefresh >= Self.fewest else { return false }
            let count = try indexer.folder.mappingErrors {
                try indexer.database.reader.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM checksum") ?? 0 }
            }
            guard changes - atLastRefresh >= count / 4 else { return false }
            atLastRefresh = changes
            return true
        }
    }
}
