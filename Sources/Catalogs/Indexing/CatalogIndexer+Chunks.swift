import Compute
import FeaturePrints
import Foundation
import GRDB
import Imaging
import Inference

extension CatalogIndexer {
    /// Images of a forward pass, at most. A thread reads as many and embeds them before it reads more, so that few
    /// decoded images are in memory at once.
    private static let largestBatch = 8
    /// What the decoded images of a thread take, but for the last one: eight photographs of 5 megapixels.
    private static let mostPixelBytes = 128 << 20

    /// Stores a chunk, and prepares the next one on the other threads.
    func store(
        _ prepared: PreparedChunk, whilePreparing items: [IndexItem], jobs: Int, timings: StageTimings?
    ) throws -> (stored: IndexReport, next: PreparedChunk) {
        enum Outcome: Sendable {
            case stored(IndexReport)
            case prepared(PreparedChunk)
        }
        let known = try records(of: items.map(\.entity.id))
        for item in items where known[ExactText(item.entity.id)] == nil { item.readAhead() }
        let batches = Self.batches(of: items.count, jobs: jobs)
        let outcomes = concurrentMap(batches.count + 1, threads: jobs) { index in
            Result {
                guard index > 0 else { return Outcome.stored(try store(prepared)) }
                let batch = items[batches[index - 1]]
                return .prepared(
                    prepare(batch, known: known, threads: max(1, jobs / batches.count), timings: timings))
            }
        }
        var (stored, next) = (IndexReport(), PreparedChunk())
        for outcome in outcomes {
            switch try outcome.get() {
            case .stored(let report): stored = report
            case .prepared(let part): next.append(part)
            }
        }
        return (stored, next)
    }

    /// Prepares and stores a chunk.
    ///
    /// - Throws: ``CatalogError``, and `CancellationError` before anything is stored.
    func index(
        chunk items: [IndexItem], jobs: Int, report: IndexReport, cancellation: Cancellation = .none
    ) throws -> IndexReport {
        try turn.withLock { _ in
            let (_, prepared) = try store(PreparedChunk(), whilePreparing: items, jobs: jobs, timings: nil)
            try cancellation.check()
            var report = report
            report.add(try store(prepared))
            return report
        }
    }

    /// Smaller ones at the end, so that all threads are done at about the same time (guided self-scheduling:
    /// Polychronopoulos, Kuck, IEEE Transactions on Computers 36, 1987).
    private static func batches(of count: Int, jobs: Int) -> [Range<Int>] {
        var (batches, start) = ([Range<Int>](), 0)
        while start < count {
            let size = min(max((count - start) / jobs, 1), largestBatch)
            batches.append(start..<(start + size))
            start += size
        }
        return batches
    }

    private func prepare(
        _ items: ArraySlice<IndexItem>, known: [ExactText: ItemReader.Known], threads: Int, timings: StageTimings?
    ) -> PreparedChunk {
        var prepared = PreparedChunk()
        var new: [NewItem] = []
        var pixelBytes = 0
        for item in items {
            switch reader.read(item, known: known[ExactText(item.entity.id)], timings: timings) {
            case .unchanged: prepared.unchanged += 1
            case .metadataChanged(let record): prepared.metadataChanges.append(record)
            case .image(let image):
                new.append((item.origin, image))
                guard let pixels = image.source.pixels else { continue }
                prepared.notes += pixels.decodingNotes.map { IndexNote(origin: item.origin, text: $0) }
                pixelBytes += pixels.height * pixels.bytesPerRow
                if pixelBytes >= Self.mostPixelBytes {
                    embed(new, into: &prepared, threads: threads, timings: timings)
                    (new, pixelBytes) = ([], 0)
                }
            case .failed(let reason): prepared.problems.append(IndexProblem(origin: item.origin, reason: reason))
            }
        }
        embed(new, into: &prepared, threads: threads, timings: timings)
        return prepared
    }

    private typealias NewItem = (origin: String, image: ItemReader.NewImage)

    private func embed(_ new: [NewItem], into prepared: inout PreparedChunk, threads: Int, timings: StageTimings?) {
        var embedded = prints(of: new.compactMap(\.image.source.pixels), threads: threads, timings: timings)[...]
        for (origin, image) in new {
            guard let print = image.source.print.map(Result.success) ?? embedded.popFirst() else {
                preconditionFailure("an image without pixels and without a print")
            }
            do {
                prepared.images.append(
                    PreparedImage(
                        record: image.record, print: PrintBlob.data(try print.get().vector),
                        thumbnail: image.thumbnail, features: image.features?.encoded))
            } catch {
                prepared.problems.append(IndexProblem(origin: origin, reason: "\(error)"))
            }
        }
    }

    /// The prints of images. Where a network gives one image no print, as if its output is zero, others have theirs.
    private func prints(
        of images: [PixelBuffer], threads: Int, timings: StageTimings?
    ) -> [Result<FeaturePrint, ModelError>] {
        do {
            return try model.featurePrints(for: images, threads: threads, timings: timings).map { .success($0) }
        } catch {
            return images.map { image in
                Result { () throws(ModelError) in
                    try model.featurePrints(for: [image], threads: threads, timings: timings)[0]
                }
            }
        }
    }

    /// Commits a chunk.
    private func store(_ chunk: PreparedChunk) throws -> IndexReport {
        var report = IndexReport()
        report.unchanged = chunk.unchanged
        report.problems = chunk.problems
        report.notes = chunk.notes
        guard !chunk.metadataChanges.isEmpty || !chunk.images.isEmpty else { return report }
        var overtaken: [EntityRecord] = []
        let (added, updated, hasNewLists) = try folder.mappingErrors {
            try writer.write { db in
                var (added, updated) = (0, 0)
                for var record in chunk.metadataChanges {
                    // Another task may have removed it, or given it another image, since it was read.
                    let sql = "SELECT row FROM entity WHERE id = ? AND contentHash = ?"
                    let row = try Int64.fetchOne(
                        db.cachedStatement(sql: sql), arguments: [record.id, record.contentHash])
                    guard let row else {
                        if try CatalogDatabase.row(of: record.id, db) != nil { overtaken.append(record) }
                        continue
                    }
                    record.row = row
                    try record.update(db)
                    updated += 1
                }
                if updated > 0 { try CatalogDatabase.raiseMetadataRevision(db) }
                guard !chunk.images.isEmpty else { return (added, updated, false) }
                let revision = try CatalogRevision.advance(db)
                for image in chunk.images {
                    var record = image.record
                    record.row = try CatalogDatabase.row(of: record.id, db)
                    if record.row == nil { added += 1 } else { updated += 1 }
                    try record.save(db)
                    try write(image, as: record, revision: revision, db)
                }
                // The matrix may be of an earlier revision for a while, and filters are kept by both revisions.
                if updated > 0 { try CatalogDatabase.raiseMetadataRevision(db) }
                let hasFeatures = chunk.images.contains { $0.features != nil }
                let model = hasFeatures ? reader.extractor?.model : nil
                return (added, updated, try model.map { try Self.noteLocalFeatures(of: $0, db) } ?? false)
            }
        }
        // Readers need them as soon as the catalog says that it has local features.
        if hasNewLists { try refreshDerivedFiles() }
        report.added = added
        report.updated = updated
        report.problems += overtaken.map {
            IndexProblem(origin: $0.origin, reason: "got another image meanwhile; its metadata is not stored")
        }
        return report
    }

    private func write(_ image: PreparedImage, as record: EntityRecord, revision: CatalogRevision, _ db: Database)
        throws
    {
        func replace(_ table: String, with columns: [(name: String, value: (any DatabaseValueConvertible)?)]?) throws {
            guard let columns else {
                return try db.cachedStatement(sql: "DELETE FROM \(table) WHERE row = ?")
                    .execute(arguments: [record.row])
            }
            let names = columns.map { ", \($0.name)" }.joined()
            let places = String(repeating: ", ?", count: columns.count)
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(table) (row\(names)) VALUES (?\(places))")
                .execute(arguments: [record.row] + StatementArguments(columns.map(\.value)))
        }
        try replace("print", with: [("vector", image.print)])
        let thumbnail = image.thumbnail.flatMap { data in reader.thumbnailSide.map { (side: $0, data: data) } }
        try replace("thumbnail", with: thumbnail.map { [("side", $0.side), ("data", $0.data)] })
        try replace("localFeatures", with: image.features.map { [("data", $0)] })
        try Checksum.write(
            row: record.row, id: record.id, revision: revision, print: image.print, localFeatures: image.features,
            thumbnail: thumbnail?.data, db)
    }

    func records(of ids: [String]) throws(CatalogError) -> [ExactText: ItemReader.Known] {
        try folder.mappingErrors {
            let found = try database.reader.read { db in
                try CatalogDatabase.inParts(of: ids) { ids in
                    let request: SQLRequest<Row> = """
                        SELECT entity.*, localFeatures.row IS NOT NULL AS hasFeatures \
                        FROM entity LEFT JOIN localFeatures USING (row) WHERE entity.id IN \(ids)
                        """
                    return try request.fetchAll(db).map { row in
                        ItemReader.Known(
                            record: try EntityRecord(row: row),
                            isComplete: try reader.extractor == nil || row.decode(forColumn: "hasFeatures"))
                    }
                }
            }
            return Dictionary(found.map { (ExactText($0.record.id), $0) }) { first, _ in first }
        }
    }
}
