import FeaturePrints
import Foundation
import GRDB

/// The catalog's SQLite file: entities, their prints, and what the prints were made with.
struct CatalogDatabase: Sendable {
    let folder: CatalogFolder
    let reader: any DatabaseReader

    /// Opens the file to read.
    static func reading(_ folder: CatalogFolder) throws(CatalogError) -> CatalogDatabase {
        guard FileManager.default.fileExists(atPath: folder.database.path) else { throw folder.error(.missing) }
        let reader = try folder.attempt { try openReader(folder) }
        return try checked(CatalogDatabase(folder: folder, reader: reader))
    }

    private static func openReader(_ folder: CatalogFolder) throws -> any DatabaseReader {
        if folder.isWritable { return try DatabasePool(path: folder.database.path, configuration: configuration) }
        // A catalog in a read-only image or on a read-only disk: SQLite's log cannot be kept beside
        // it, and nobody can change it.
        var readOnly = configuration
        readOnly.readonly = true
        var url = URLComponents()
        (url.scheme, url.path, url.query) = ("file", folder.database.path, "immutable=1")
        return try DatabaseQueue(path: url.string ?? folder.database.path, configuration: readOnly)
    }

    /// Opens the file to write, or makes it.
    static func makePool(_ folder: CatalogFolder) throws(CatalogError) -> DatabasePool {
        let pool = try folder.attempt {
            let pool = try DatabasePool(path: folder.database.path, configuration: configuration)
            try migrator.migrate(pool)
            return pool
        }
        _ = try checked(CatalogDatabase(folder: folder, reader: pool))
        return pool
    }

    private static func checked(_ database: CatalogDatabase) throws(CatalogError) -> CatalogDatabase {
        let folder = database.folder
        let isLater = try folder.attempt { try database.reader.read(migrator.hasBeenSuperseded) }
        if isLater { throw folder.error(.laterVersion) }
        let isWhole = try folder.attempt { try database.reader.read(migrator.hasCompletedMigrations) }
        if !isWhole { throw folder.error(.missing) }
        return database
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // A reader meets a writer's commit, at most.
        configuration.busyMode = .timeout(10)
        return configuration
    }

    /// SQLite binds some 32,000 values to a statement; longer lists are taken in parts.
    static func inParts<Element, Result>(
        of list: [Element], _ body: ([Element]) throws -> [Result]
    ) rethrows -> [Result] {
        let size = 10_000
        guard list.count > size else { return try body(list) }
        return try stride(from: 0, to: list.count, by: size).flatMap { try body(Array(list[$0..<min($0 + size, list.count)])) }
    }

    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.create(table: "entity") { table in
                // Rows keep the order in which entities came, which is the order of equal distances.
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
        return migrator
    }()

    /// Counts changes of entities and prints; the matrix file says which one it was made of.
    static func revision(_ db: Database) throws -> Int64 {
        Int64(try Setting.revision.read(db) ?? "") ?? 0
    }

    static func raiseRevision(_ db: Database) throws {
        try Setting.revision.write(String(try revision(db) + 1), db)
    }

    static func model(_ db: Database) throws -> ModelIdentity? {
        guard let name = try Setting.modelName.read(db), let digest = try Setting.modelDigest.read(db) else { return nil }
        return ModelIdentity(name: name, digest: digest)
    }
}

/// The rows of the table of settings.
enum Setting: String {
    case catalogID, revision, modelName, modelDigest, printLength

    func read(_ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM setting WHERE key = ?", arguments: [rawValue])
    }

    func write(_ value: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)", arguments: [rawValue, value])
    }
}

extension CatalogFolder {
    /// Runs a database operation, its errors in this package's words.
    func attempt<Result>(_ body: () throws -> Result) throws(CatalogError) -> Result {
        do {
            return try body()
        } catch let error as CatalogError {
            throw error
        } catch let failure as DatabaseError {
            let words = failure.message ?? "\(failure.resultCode)"
            switch failure.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw self.error(.damaged(words))
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: throw self.error(.unwritable(words))
            case .SQLITE_BUSY, .SQLITE_LOCKED: throw self.error(.busy)
            default: throw self.error(.failed(words))
            }
        } catch {
            throw self.error(.failed("\(error)"))
        }
    }
}

/// A row of the table of entities.
struct EntityRecord: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "entity"

    var row: Int64?
    var id: String
    var type: String?
    var title: String?
    var subtitle: String?
    var labels: [String]
    var attributes: [String: String]
    var image: String
    var size: Int64
    /// Nanoseconds since 1970.
    var modified: Int64
    /// SHA-256.
    var contentHash: Data

    mutating func didInsert(_ inserted: InsertionSuccess) { row = inserted.rowID }

    init(_ entity: CatalogEntity, file: FileStamp, contentHash: Data) {
        id = entity.id
        type = entity.type
        title = entity.title
        subtitle = entity.subtitle
        labels = entity.labels
        attributes = entity.attributes
        image = entity.image
        size = file.size
        modified = file.modified
        self.contentHash = contentHash
    }

    var entity: CatalogEntity {
        CatalogEntity(
            id: id, type: type, title: title, subtitle: subtitle, labels: labels, attributes: attributes, image: image)
    }

    var file: FileStamp { FileStamp(size: size, modified: modified) }
}

/// What tells whether a file is the one that was indexed, without reading it.
struct FileStamp: Equatable, Sendable {
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64

    init(size: Int64, modified: Int64) {
        self.size = size
        self.modified = modified
    }

    /// Nil where there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        modified = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Prints as stored: little-endian 32-bit floats.
enum PrintBlob {
    static func data(_ vector: [Float]) -> Data {
        var data = Data(capacity: vector.count * 4)
        for value in vector { withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    /// Nil where the length is wrong or a number is not finite.
    static func vector(_ data: Data, length: Int) -> [Float]? {
        guard data.count == length * 4 else { return nil }
        let vector = data.withUnsafeBytes { bytes in
            (0..<length).map { Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self))) }
        }
        return vector.allSatisfy(\.isFinite) ? vector : nil
    }
}
