import FeaturePrints
import Foundation
import GRDB
import LocalFeatures

extension Catalog {
    /// Reads everything that the catalog stores, and returns a description of each problem; an empty array for an
    /// intact catalog. O(catalog).
    ///
    /// The database is checked against the digests that were stored with each image, and each derived file against its
    /// own digest and, if the database has no problem, against the database. A damaged derived file is reported. It is
    /// also rebuilt, unless another process is writing to the catalog or the folder cannot be written.
    ///
    /// - Throws: ``CatalogError`` if the catalog cannot be read or a file cannot be rebuilt, and `CancellationError`.
    public func verify() async throws -> [String] { try await reading { try problems() } }

    private func problems() throws -> [String] {
        let problems = try folder.mappingErrors { try databaseProblems() }
        return try problems + matrix.store.problems(comparing: problems.isEmpty)
            + (lists?.store.problems(comparing: problems.isEmpty) ?? [])
    }

    private func databaseProblems() throws -> [String] {
        try database.reader.read { db in
            var problems = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            problems += try DatabaseValue.fetchAll(
                db, sql: "SELECT id FROM entity WHERE row NOT IN (SELECT row FROM print)"
            ).map { "entity “\(String.fromDatabaseValue($0) ?? "?")” has no print" }
            let entities = try Row.fetchCursor(db, sql: "SELECT * FROM entity ORDER BY row")
            while let entity = try entities.next() {
                do {
                    _ = try EntityRecord(row: entity)
                } catch let error as DatabaseError {
                    problems.append(error.message ?? "\(error)")
                }
            }
            if try !TextIndexVerification.isIntact(db) {
                problems.append("the index of the entities’ text does not match them")
            }
            // Derived files are made of what changed since a revision.
            let revision = try CatalogRevision.current(db)?.number ?? 0
            let misdated: SQLRequest<DatabaseValue> = """
                SELECT entity.id FROM checksum JOIN entity USING (row) \
                WHERE typeof(checksum.revision) <> 'integer' OR checksum.revision NOT BETWEEN 0 AND \(revision)
                """
            problems += try misdated.fetchAll(db).map {
                "entity “\(String.fromDatabaseValue($0) ?? "?")”: its revision is not one of the catalog’s"
            }
            let prints = try Row.fetchCursor(
                db,
                sql: """
                    SELECT entity.id, print.vector, checksum.print FROM print LEFT JOIN entity USING (row) \
                    LEFT JOIN checksum USING (row) ORDER BY print.row
                    """)
            while let print = try prints.next() {
                guard let id = String.fromDatabaseValue(print[0]) else {
                    problems.append("a print without an entity")
                    continue
                }
                let name = "entity “\(id)”"
                let blob = Data.fromDatabaseValue(print[1]) ?? Data()
                guard let vector = PrintBlob.vector(blob, dimension: model.dimension) else {
                    problems.append("\(name): its print is not \(model.dimension) finite floats")
                    continue
                }
                let norm = FeaturePrintModel.norm(of: vector)
                if abs(norm - 1) > FeaturePrintModel.normTolerance {
                    problems.append("\(name): its print has the norm \(norm), not 1")
                } else if Data.fromDatabaseValue(print[2]) != Checksum.digest(of: blob, id: id) {
                    problems.append("\(name): its print is damaged or another entity’s")
                }
            }
            for (table, name) in [("localFeatures", "local features are"), ("thumbnail", "thumbnail is")] {
                // An entity may have none, but not lose what it had.
                let blobs = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT entity.id, \(table).data, checksum.\(table) FROM entity LEFT JOIN checksum USING (row) \
                        LEFT JOIN \(table) USING (row) WHERE COALESCE(\(table).data, checksum.\(table)) IS NOT NULL \
                        ORDER BY entity.row
                        """)
                while let blob = try blobs.next() {
                    // An id of another type has been reported above.
                    guard let id = String.fromDatabaseValue(blob[0]) else { continue }
                    guard let data = Data.fromDatabaseValue(blob[1]) else {
                        problems.append("entity “\(id)”: its \(name) missing")
                        continue
                    }
                    if table == "localFeatures",
                        LocalFeatures(encoded: data, wordCount: lists?.store.source.wordCount ?? .max) == nil
                    {
                        problems.append("entity “\(id)”: its local features cannot be read")
                    } else if Data.fromDatabaseValue(blob[2]) != Checksum.digest(of: data, id: id) {
                        problems.append("entity “\(id)”: its \(name) damaged or another entity’s")
                    }
                }
            }
            return problems
        }
    }
}

extension DerivedFileStore {
    /// The problem of the file, which is made anew if that is possible; none for a file of an earlier state.
    ///
    /// - Parameter isComparing: whether to compare it with the database.
    fileprivate func problems(comparing isComparing: Bool) throws(CatalogError) -> [String] {
        guard let problem = try problem(comparing: isComparing) else { return [] }
        let name = File.format.name
        guard folder.isWritable, let lock = DerivedFilesLock(ifFreeIn: folder) else {
            return ["\(name): \(problem); the next index run rebuilds it"]
        }
        defer { lock.release() }
        try rebuild()
        return ["\(name): \(problem); it was rebuilt"]
    }

    private func problem(comparing isComparing: Bool) throws(CatalogError) -> String? {
        guard let file = try mapped() else { return "is missing or damaged" }
        guard file.contents.isIntact else { return "its contents do not match its digest" }
        guard let usable = try usable() else { return "is not this catalog’s" }
        // Another file may be there by now.
        guard isComparing, usable.isCurrent, usable.file.header == file.header else { return nil }
        guard let expected = try expectedDigest(at: file.header.revision) else { return nil }
        return expected == file.header.contentDigest ? nil : "does not match the database"
    }
}
