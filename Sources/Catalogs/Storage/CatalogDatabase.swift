import Compute
import FeaturePrints
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The catalog's SQLite file: entities, their prints, and the model of the prints.
struct CatalogDatabase: Sendable {
    let folder: CatalogFolder
    let reader: CatalogReader

    /// Opens the file for reading.
    static func reading(_ folder: CatalogFolder) throws(CatalogError) -> CatalogDatabase {
        guard !FileStamp.isMissing(folder.database.path) else { throw folder.error(.missing) }
        try folder.checkDatabaseFiles()
        let reader = try folder.mappingErrors { try CatalogReader(opening: folder) }
        return try checked(CatalogDatabase(folder: folder, reader: reader))
    }

    /// Opens the file for writing, updates one of an earlier version, and records the version of this package.
    static func makePool(_ folder: CatalogFolder) throws(CatalogError) -> DatabasePool {
        try folder.checkDatabaseFiles()
        let pool = try folder.mappingErrors {
            let pool: DatabasePool
            do {
                pool = try writablePool(folder)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
                guard let retried = try OpenReaders.whileClosed(in: folder, { try writablePool(folder) }) else {
                    throw error
                }
                pool = retried
            }
            return pool
        }
        let database = CatalogDatabase(folder: folder, reader: CatalogReader(writer: pool))
        let state = try folder.mappingErrors { try migrationState(of: database) }
        if state.isLater { throw folder.error(.laterVersion) }
        // Before a trigger could run.
        try checkSchema(state, folder)
        try folder.mappingErrors { try migrator.migrate(pool) }
        _ = try checked(database)
        try folder.mappingErrors {
            guard try pool.read(Setting.writtenBy.read) != PackageVersion.current else { return }
            try pool.write { try Setting.writtenBy.write(PackageVersion.current, $0) }
        }
        return pool
    }

    private static func writablePool(_ folder: CatalogFolder) throws -> DatabasePool {
        var configuration = configuration
        configuration.prepareDatabase { db in
            guard !db.configuration.readonly else { return }
            // What is committed is on the disk. By default SQLite syncs a log at checkpoints only.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            // The log stays when the last writer closes, empty: readers without write access cannot make one.
            var stays: CInt = 1
            sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &stays)
            try db.execute(sql: "PRAGMA journal_size_limit = 16777216")
        }
        let pool = try DatabasePool(path: folder.database.path, configuration: configuration)
        try pool.writeWithoutTransaction { db in
            // SQLite opens a file for reading if it cannot open it for writing, as where too many files are open.
            guard sqlite3_db_readonly(db.sqliteConnection, nil) == 0 else {
                throw DatabaseError(resultCode: .SQLITE_READONLY)
            }
            // Opening writes nothing if there is a log. This takes the right to write, and gives it back.
            try db.inTransaction(.immediate) { .rollback }
        }
        return pool
    }

    /// Makes the database whole before it has its name, so that a process that is killed leaves a complete one or none.
    ///
    /// - Parameter model: the model of its prints.
    static func create(_ folder: CatalogFolder, model: FeaturePrintModel) throws(CatalogError) {
        folder.removeUnfinishedDatabase()
        do {
            try folder.mappingErrors {
                // It is not read before it has its name, so it waits for the disk once, at the end.
                var configuration = configuration
                configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
                let queue = try DatabaseQueue(path: folder.unfinishedDatabase.path, configuration: configuration)
                try migrator.migrate(queue)
                try queue.write { try writeModel(model, $0) }
                try queue.close()
                // A log of another database would be taken for this one's.
                for suffix in ["-wal", "-shm"] { unlink(folder.database.path + suffix) }
                try folder.publishDatabase()
            }
        } catch {
            folder.removeUnfinishedDatabase()
            throw error
        }
    }

    static func writeModel(_ model: FeaturePrintModel, _ db: Database) throws {
        try Setting.modelName.write(model.identity.name, db)
        try Setting.modelDigest.write(model.identity.digest, db)
        try Setting.dimension.write(String(model.dimension), db)
    }

    private static func checked(_ database: CatalogDatabase) throws(CatalogError) -> CatalogDatabase {
        let folder = database.folder
        let state = try folder.mappingErrors { try migrationState(of: database) }
        if state.isLater { throw folder.error(.laterVersion) }
        if state.done.isEmpty { throw folder.error(.missing) }
        try checkSchema(state, folder)
        if state.done.count < migrator.migrations.count { throw folder.error(.earlierVersion) }
        if let name = state.lacking { throw folder.error(.damaged("“\(name)” is missing")) }
        return database
    }

    private struct MigrationState {
        let isLater: Bool
        let done: [String]
        /// The first object that no catalog has.
        let foreign: String?
        /// The first object of a catalog of this version that is not there.
        let lacking: String?
    }

    /// Kept once it is made. An error is not kept: there may be memory the next time.
    private static let schema = Mutex<CatalogSchema?>(nil)

    private static func currentSchema() throws -> CatalogSchema {
        if let known = schema.withLock({ $0 }) { return known }
        let made = try CatalogSchema.current(migrator)
        schema.withLock { $0 = made }
        return made
    }

    private static func migrationState(of database: CatalogDatabase) throws -> MigrationState {
        let schema = try currentSchema()
        return try database.reader.read { db in
            let found = try CatalogSchema(db)
            // A view in the place of a table may be endless.
            guard found.canReadMigrations(as: schema) else {
                throw database.folder.error(.damaged("“grdb_migrations” is not a table"))
            }
            return MigrationState(
                isLater: try migrator.hasBeenSuperseded(db), done: try migrator.completedMigrations(db),
                foreign: found.firstDifference(from: schema), lacking: schema.firstDifference(from: found))
        }
    }

    private static func checkSchema(_ state: MigrationState, _ folder: CatalogFolder) throws(CatalogError) {
        if let name = state.foreign { throw folder.error(.damaged("“\(name)” is not what a catalog has")) }
    }

    static var configuration: Configuration {
        var configuration = Configuration()
        // A reader waits at most for a writer's commit.
        configuration.busyMode = .timeout(10)
        // As many threads of a catalog's executor may read at once.
        configuration.maximumReaderCount = max(configuration.maximumReaderCount, availableProcessorCount)
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
            try db.execute(sql: "INSERT INTO setting (key, value) VALUES ('revision', '0')")
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
        // Revisions with random tokens instead of a number alone, and digests of what is stored.
        migrator.registerMigration("4") { db in
            try db.create(table: "revision") { table in
                table.primaryKey("number", .integer)
                table.column("token", .text).notNull()
            }
            try Checksum.createTable(db)
            let number = try Int64.fetchOne(
                db, sql: "SELECT CAST(value AS INTEGER) FROM setting WHERE key = 'revision'")
            try db.execute(
                sql: "INSERT INTO revision (number, token) VALUES (?, ?)", arguments: [number ?? 0, UUID().uuidString])
            try db.execute(sql: "DELETE FROM setting WHERE key = 'revision'")
        }
        return migrator
    }()

    /// Incremented with every change of metadata, which leaves prints and matrix unchanged.
    static func metadataRevision(_ db: Database) throws -> Int64 {
        try Setting.metadataRevision.count(db)
    }

    /// The row of an entity; nil if there is none of that id.
    static func row(of id: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT row FROM entity WHERE id = ?"), arguments: [id])
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
