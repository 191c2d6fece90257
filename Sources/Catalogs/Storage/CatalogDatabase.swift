import Compute
import FeaturePrints
import Foundation
import GRDB

/// The catalog's SQLite file: entities, their prints, and the model of the prints.
struct CatalogDatabase: Sendable {
    let folder: CatalogFolder
    let reader: any DatabaseReader

    /// Opens the file for reading.
    static func reading(_ folder: CatalogFolder) throws(CatalogError) -> CatalogDatabase {
        guard FileManager.default.fileExists(atPath: folder.database.path) else { throw folder.error(.missing) }
        let reader = try folder.mappingErrors { try openReader(folder) }
        return try checked(CatalogDatabase(folder: folder, reader: reader))
    }

    private static func openReader(_ folder: CatalogFolder) throws -> any DatabaseReader {
        if folder.isWritable { return try DatabasePool(path: folder.database.path, configuration: configuration) }
        // On a read-only disk SQLite's log cannot be written, and nobody changes the file.
        var readOnly = configuration
        readOnly.readonly = true
        var url = URLComponents()
        (url.scheme, url.path, url.query) = ("file", folder.database.path, "immutable=1")
        return try DatabaseQueue(path: url.string ?? folder.database.path, configuration: readOnly)
    }

    /// Opens the file for writing, or creates it, and records the version of this package.
    static func makePool(_ folder: CatalogFolder) throws(CatalogError) -> DatabasePool {
        let pool = try folder.mappingErrors {
            let pool = try DatabasePool(path: folder.database.path, configuration: configuration)
            try migrator.migrate(pool)
            return pool
        }
        _ = try checked(CatalogDatabase(folder: folder, reader: pool))
        try folder.mappingErrors {
            guard try pool.read(Setting.writtenBy.read) != PackageVersion.current else { return }
            try pool.write { try Setting.writtenBy.write(PackageVersion.current, $0) }
        }
        return pool
    }

    private static func checked(_ database: CatalogDatabase) throws(CatalogError) -> CatalogDatabase {
        let folder = database.folder
        let isLater = try folder.mappingErrors { try database.reader.read(migrator.hasBeenSuperseded) }
        if isLater { throw folder.error(.laterVersion) }
        let done = try folder.mappingErrors { try database.reader.read(migrator.completedMigrations) }
        if done.isEmpty { throw folder.error(.missing) }
        if done.count < migrator.migrations.count { throw folder.error(.earlierVersion) }
        return database
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // A reader waits at most for a writer's commit.
        configuration.busyMode = .timeout(10)
        return configuration
    }

    /// SQLite binds at most 32,766 values to a statement; longer lists are split.
    static func inParts<Element, Result>(
        of list: [Element], _ body: ([Element]) throws -> [Result]
    ) rethrows -> [Result] {
        let size = 10_000
        guard list.count > size else { return try body(list) }
        return try stride(from: 0, to: list.count, by: size).flatMap {
            try body(Array(list[$0..<min($0 + size, list.count)]))
        }
    }

    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.create(table: "entity") { table in
                // Rows keep the order of insertion, which breaks ties of distances.
                table.autoIncrementedPrimaryKey("row")
                table.column("id", .text).notNull().unique()
                table.column("type", .text)
                table.column("title", .text)
                table.column("subtitle", .text)
                table.column("labels", .jsonText).notNull()
                table.column("attributes", .jsonText).notNull()
                table.column("image", .text).notNull()
                table.column("size", .integer).notNull()
                table.column("modified", .integer).notNull()
                table.column("contentHash", .blob).notNull()
            }
            try db.create(table: "print") { table in
                table.primaryKey("row", .integer).references("entity", onDelete: .cascade)
                table.column("vector", .blob).notNull()
            }
            try db.create(table: "setting") { table in
                table.primaryKey("key", .text)
                table.column("value", .text).notNull()
            }
            try Setting.catalogID.write(UUID().uuidString, db)
            try Setting.revision.write("0", db)
        }
        // Text search and thumbnails. The index has no copy of the text: it reads the table of entities.
        migrator.registerMigration("2") { db in
            try db.execute(
                sql: """
                    CREATE VIRTUAL TABLE entityText USING fts5(
                        title, subtitle, labels, content='entity', content_rowid='row',
                        tokenize='unicode61 remove_diacritics 2', prefix='2 3');
                    INSERT INTO entityText (entityText) VALUES ('rebuild');
                    CREATE TRIGGER entityTextInsert AFTER INSERT ON entity BEGIN
                        INSERT INTO entityText (rowid, title, subtitle, labels)
                        VALUES (new.row, new.title, new.subtitle, new.labels);
                    END;
                    CREATE TRIGGER entityTextDelete AFTER DELETE ON entity BEGIN
                        INSERT INTO entityText (entityText, rowid, title, subtitle, labels)
                        VALUES ('delete', old.row, old.title, old.subtitle, old.labels);
                    END;
                    CREATE TRIGGER entityTextUpdate AFTER UPDATE OF title, subtitle, labels ON entity BEGIN
                        INSERT INTO entityText (entityText, rowid, title, subtitle, labels)
                        VALUES ('delete', old.row, old.title, old.subtitle, old.labels);
                        INSERT INTO entityText (rowid, title, subtitle, labels)
                        VALUES (new.row, new.title, new.subtitle, new.labels);
                    END;
                    """)
            try db.create(table: "thumbnail") { table in
                table.primaryKey("row", .integer).references("entity", onDelete: .cascade)
                table.column("side", .integer).notNull()
                table.column("data", .blob).notNull()
            }
        }
        // Local features are the truth here, not derived: images may be gone when the inverted lists are rebuilt.
        migrator.registerMigration("3") { db in
            try db.create(table: "localFeatures") { table in
                table.primaryKey("row", .integer).references("entity", onDelete: .cascade)
                table.column("data", .blob).notNull()
            }
        }
        return migrator
    }()

    /// Incremented with every change of entities or prints; the matrix file stores the one it was built from.
    static func revision(_ db: Database) throws -> Int64 {
        try Setting.revision.count(db)
    }

    static func raiseRevision(_ db: Database) throws {
        try Setting.revision.raise(db)
    }

    /// Incremented with every change of metadata, which leaves prints and matrix unchanged.
    static func metadataRevision(_ db: Database) throws -> Int64 {
        try Setting.metadataRevision.count(db)
    }

    static func raiseMetadataRevision(_ db: Database) throws {
        try Setting.metadataRevision.raise(db)
    }

    static func model(_ db: Database) throws -> ModelIdentity? {
        guard let name = try Setting.modelName.read(db), let digest = try Setting.modelDigest.read(db) else {
            return nil
        }
        return ModelIdentity(name: name, digest: digest)
    }
}
