package import CatalogEntities
import Compute
package import FeaturePrints
package import Foundation
import GRDB
import GRDBSQLite

/// A catalog's database: the entities with their prints, local features and thumbnails, and the settings.
///
/// The store owns all SQL, and maps SQLite's errors to ``CatalogError``. Other errors pass as they are.
package struct EntityStore: Sendable {
    package let folder: CatalogFolder
    private let reader: CatalogReader
    /// Nil in a store that is open for reading.
    private let writer: DatabasePool?
    private let cached = CachedRows()

    /// Names what is cached of the store, and drops it at the end.
    private final class CachedRows: Sendable {
        let id = UUID()

        deinit { RowCache.shared.forget(id) }
    }

    /// Opens the database for reading.
    package static func reading(_ folder: CatalogFolder) throws -> EntityStore {
        guard !FileStamp.isMissing(folder.database.path) else { throw folder.error(.missing) }
        try folder.checkDatabaseFiles()
        let store = EntityStore(
            folder: folder, reader: try folder.mappingErrors { try CatalogReader(opening: folder) }, writer: nil)
        try store.checkSchema()
        return store
    }

    /// Opens the database for writing, and records the version of this package.
    package static func writing(_ folder: CatalogFolder) throws -> EntityStore {
        try folder.checkDatabaseFiles()
        let pool = try folder.mappingErrors {
            do {
                return try writablePool(folder)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
                guard let retried = try OpenReaders.whileClosed(in: folder, { try writablePool(folder) }) else {
                    throw error
                }
                return retried
            }
        }
        let store = EntityStore(folder: folder, reader: CatalogReader(writer: pool), writer: pool)
        // Before a trigger could run.
        try store.checkSchema()
        if try store.read(Setting.writtenBy.read) != PackageVersion.current {
            try store.write { try Setting.writtenBy.write(PackageVersion.current, $0) }
        }
        return store
    }

    /// Makes the database whole before it has its name, so that a process that is killed leaves a complete one or none.
    ///
    /// - Parameter model: the model of its prints.
    package static func create(_ folder: CatalogFolder, model: FeaturePrintModel) throws {
        folder.removeUnfinishedDatabase()
        do {
            try folder.mappingErrors {
                // It is not read before it has its name, so it waits for the disk once, at the end.
                var configuration = configuration
                configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
                let queue = try DatabaseQueue(path: folder.unfinishedDatabase.path, configuration: configuration)
                try queue.write { db in
                    try CatalogSchema.create(db)
                    try Setting.modelName.write(model.identity.name, db)
                    try Setting.modelDigest.write(model.identity.digest, db)
                    try Setting.dimension.write(String(model.dimension), db)
                }
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

    /// Reads one state of the database.
    ///
    /// - Parameters:
    ///   - attempts: the largest number of calls of `body`; see ``CatalogReader``.
    ///   - body: may be called again if another process changes the database meanwhile.
    func read<Value>(attempts: Int = 3, _ body: (Database) throws -> Value) throws -> Value {
        try folder.mappingErrors { try reader.read(attempts: attempts, body) }
    }

    /// What is cached, as of the state that a transaction reads.
    ///
    /// - Parameter few: the entities that are looked up one by one.
    func knownRows(_ db: Database, few: Int = usualFew) throws -> KnownRows { try KnownRows(cached.id, db, few: few) }

    /// Changes the database in one transaction.
    ///
    /// - Precondition: the store is open for writing.
    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try folder.mappingErrors {
            try writable.write { db in
                let value = try body(db)
                try EntityChange.forgetEarliest(db)
                return value
            }
        }
    }

    private var writable: DatabasePool {
        guard let writer else { preconditionFailure("a catalog that is open for reading is written") }
        return writer
    }

    /// Writes the log into the database file, so that a copy of that file alone has everything; not where a reader
    /// still needs the log.
    func checkpoint() { try? writable.writeWithoutTransaction { _ = try $0.checkpoint(.passive) } }

    /// Writes one state of the database to the unfinished database of another folder.
    ///
    /// - Parameter progress: called after each step. What it throws ends the copy.
    /// - Returns: the model of the prints in the copy.
    package func copy(to copy: CatalogFolder, progress: @escaping () throws -> Void) throws -> ModelIdentity? {
        try copy.mappingErrors { try reader.copyDatabase(to: copy.url, progress: progress) }
    }

    private func checkSchema() throws {
        if let problem = try read(CatalogSchema.problem) { throw folder.error(problem) }
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

    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(function: Condition.distanceFunction) }
        // A reader waits at most for a writer's commit.
        configuration.busyMode = .timeout(10)
        // As many threads of a catalog's executor may read at once.
        configuration.maximumReaderCount = max(configuration.maximumReaderCount, availableProcessorCount)
        return configuration
    }

    /// Runs `body` with parts of a list: SQLite binds at most 32,766 values to a statement.
    static func inParts<Element, Result>(
        of list: [Element], _ body: ([Element]) throws -> [Result]
    ) rethrows -> [Result] {
        let size = 10_000
        guard list.count > size else { return try body(list) }
        return try stride(from: 0, to: list.count, by: size).flatMap {
            try body(Array(list[$0..<min($0 + size, list.count)]))
        }
    }
}

extension EntityStore {
    /// The model of the prints; nil in a damaged database.
    package func model() throws -> ModelIdentity? { try read(Self.model) }

    static func model(_ db: Database) throws -> ModelIdentity? {
        guard let name = try Setting.modelName.read(db), let digest = try Setting.modelDigest.read(db) else {
            return nil
        }
        return ModelIdentity(name: name, digest: digest)
    }

    /// SHA-256 of the local-feature model; nil in a catalog without local features.
    package func localFeatureModelDigest() throws -> String? { try read(Setting.localFeatureModel.read) }

    /// How the nearest prints are found.
    package func printIndex() throws -> PrintIndexKind {
        try read(Setting.printIndex.read).flatMap(PrintIndexKind.init) ?? .automatic
    }

    package func setPrintIndex(_ kind: PrintIndexKind) throws {
        try write { try Setting.printIndex.write(kind.rawValue, $0) }
    }

    /// What the catalog was called by itself when it was made; nil in a damaged database.
    package func catalogID() throws -> UUID? { try read(Setting.catalogID.read).flatMap(UUID.init(uuidString:)) }

    /// The identity of the catalog and its present revision.
    static func state(_ db: Database) throws -> (catalogID: UUID, revision: CatalogRevision)? {
        guard let id = try Setting.catalogID.read(db).flatMap(UUID.init(uuidString:)),
            let revision = try CatalogRevision.current(db)
        else { return nil }
        return (id, revision)
    }

    /// Whether a derived file with this header is of the present state; nil if it is of none that the database came
    /// from.
    func isCurrent(_ header: DerivedFileHeader) throws -> Bool? {
        try read { db in
            guard header.catalogID.uuidString == (try Setting.catalogID.read(db)), try header.revision.isPast(of: db)
            else { return nil }
            return try CatalogRevision.current(db) == header.revision
        }
    }

    /// Size and provenance, without what the model and the derived files know.
    package func info() throws -> (
        entityCount: Int, revision: Int64, metadataRevision: Int64, typeCounts: [Facet.Value],
        imageCount: Int, entitiesWithLocalFeatures: Int, writtenBy: String?
    ) {
        try read { db in
            let types = try Row.fetchAll(
                db, sql: "SELECT COALESCE(type, ''), COUNT(*) FROM entity GROUP BY 1 ORDER BY 1")
            let withLocalFeatures: SQLRequest<Int> = """
                SELECT COUNT(*) FROM entity \
                WHERE EXISTS (SELECT 1 FROM localFeatures WHERE row \(sql: ImageRow.isOfEntity()))
                """
            return (
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entity") ?? 0,
                try CatalogRevision.current(db)?.number ?? 0,
                try Setting.metadataRevision.count(db),
                try types.map { try Facet.Value(value: $0.decode(atIndex: 0), count: $0.decode(atIndex: 1)) },
                try Self.imageCount(db), try withLocalFeatures.fetchOne(db) ?? 0, try Setting.writtenBy.read(db)
            )
        }
    }
}

extension CatalogFolder {
    /// Runs an operation of the database, and maps SQLite's errors to ``CatalogError``. Other errors pass as they are.
    func mappingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as DatabaseError {
            let words = failure.message ?? "\(failure.resultCode)"
            switch failure.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw error(.damaged(words))
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: throw error(.unwritable(words))
            case .SQLITE_BUSY, .SQLITE_LOCKED: throw error(.busy)
            default: throw error(.failed(words))
            }
        } catch let failure as RowDecodingError {
            throw error(.damaged(failure.summary))
        }
    }
}

extension RowDecodingError {
    /// The value and its row, without the statement that read it.
    var summary: String {
        let description = "\(self)"
        return String(description.prefix(upTo: description.range(of: ", sql: ")?.lowerBound ?? description.endIndex))
    }
}
