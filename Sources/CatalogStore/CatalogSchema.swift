import CatalogEntities
import Foundation
import GRDB
import Synchronization

/// The tables, indexes and triggers of a catalog's database.
///
/// SQLite runs what the schema says: a view may be endless, a trigger or a generated column may take any time and
/// memory. So a database with anything that no catalog has is not used.
struct CatalogSchema: Equatable, Sendable {
    /// The version of the schema, stored as SQLite's `user_version`. A catalog of another version is indexed again.
    static let version = 4

    /// What a new catalog's database is made of.
    ///
    /// An entity's record is one row of `entity`, with labels, attributes and the paths of its images as JSON. The
    /// table `field` indexes the same values by name, as folded text (``TextFolding``), numbers and dates, so that
    /// conditions, facets and lookups are index searches; and the product codes in one form. Each value of a list has a
    /// row, and its place in the list, by which orders find the first. Each image has a row
    /// (``ImageRow``) in `image`, `print`, `localFeatures` and `thumbnail`: a query of metadata reads none of their
    /// pages. They are the truth, not derived: images may be gone when a derived file is made again. `image` has the
    /// first half of the SHA-256 of what the others have, and the revision at which that was stored.
    ///
    /// The full-text index has no copy of the text: it reads the table of entities. The column `words` has what the
    /// index needs of folded words and of scripts without spaces (``SearchedWord``).
    ///
    /// The last rows of `change` name the entities that were written or removed (``EntityChange``).
    private static let definition = """
        CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE revision (number INTEGER PRIMARY KEY, token TEXT NOT NULL);
        CREATE TABLE entity (
            row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, type TEXT, title TEXT, subtitle TEXT,
            labels TEXT NOT NULL, attributes TEXT NOT NULL, images TEXT NOT NULL, words TEXT);
        CREATE TABLE change (
            number INTEGER PRIMARY KEY, row INTEGER NOT NULL, token INTEGER NOT NULL DEFAULT (random()));
        CREATE TRIGGER entityInsert AFTER INSERT ON entity BEGIN INSERT INTO change (row) VALUES (new.row); END;
        CREATE TRIGGER entityUpdate AFTER UPDATE ON entity BEGIN INSERT INTO change (row) VALUES (new.row); END;
        CREATE TRIGGER entityDelete AFTER DELETE ON entity BEGIN INSERT INTO change (row) VALUES (old.row); END;
        CREATE TABLE field (
            name TEXT NOT NULL, folded TEXT NOT NULL, row INTEGER NOT NULL REFERENCES entity (row) ON DELETE CASCADE,
            text TEXT NOT NULL, number NUMERIC, instant REAL, place INTEGER NOT NULL,
            PRIMARY KEY (name, folded, row, text)) WITHOUT ROWID;
        CREATE INDEX fieldByEntity ON field (row);
        CREATE INDEX fieldOfList ON field (name) WHERE place > 0;
        CREATE INDEX fieldByNumber ON field (name, number) WHERE number IS NOT NULL;
        CREATE INDEX fieldByInstant ON field (name, instant) WHERE instant IS NOT NULL;
        CREATE TABLE image (
            row INTEGER PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
            inode INTEGER NOT NULL, contentHash BLOB NOT NULL, revision INTEGER NOT NULL, print BLOB, localFeatures BLOB, thumbnail BLOB);
        CREATE TABLE print (
            row INTEGER PRIMARY KEY REFERENCES image (row) ON DELETE CASCADE ON UPDATE CASCADE,
            vector BLOB NOT NULL);
        CREATE TABLE localFeatures (
            row INTEGER PRIMARY KEY REFERENCES image (row) ON DELETE CASCADE ON UPDATE CASCADE, data BLOB NOT NULL);
        CREATE TABLE thumbnail (
            row INTEGER PRIMARY KEY REFERENCES image (row) ON DELETE CASCADE ON UPDATE CASCADE,
            side INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TRIGGER entityImagesDelete AFTER DELETE ON entity BEGIN
            DELETE FROM image WHERE row \(ImageRow.isOfEntity("old"));
        END;
        CREATE VIRTUAL TABLE entityText USING fts5(
            title, subtitle, labels, words, content='entity', content_rowid='row', \(textIndexOptions));
        CREATE TRIGGER entityTextInsert AFTER INSERT ON entity BEGIN
            INSERT INTO entityText (rowid, title, subtitle, labels, words)
            VALUES (new.row, new.title, new.subtitle, new.labels, new.words);
        END;
        CREATE TRIGGER entityTextDelete AFTER DELETE ON entity BEGIN
            INSERT INTO entityText (entityText, rowid, title, subtitle, labels, words)
            VALUES ('delete', old.row, old.title, old.subtitle, old.labels, old.words);
        END;
        CREATE TRIGGER entityTextUpdate AFTER UPDATE OF title, subtitle, labels, words ON entity BEGIN
            INSERT INTO entityText (entityText, rowid, title, subtitle, labels, words)
            VALUES ('delete', old.row, old.title, old.subtitle, old.labels, old.words);
            INSERT INTO entityText (rowid, title, subtitle, labels, words)
            VALUES (new.row, new.title, new.subtitle, new.labels, new.words);
        END;
        """
    static let textIndexOptions = "tokenize='unicode61 remove_diacritics 2', prefix='2 3'"

    /// Makes the tables of a new catalog, in one transaction.
    static func create(_ db: Database) throws {
        try db.execute(sql: definition)
        try db.execute(sql: "PRAGMA user_version = \(version)")
        try Setting.catalogID.write(UUID().uuidString, db)
        try CatalogRevision(number: 0, token: UUID()).insert(db)
    }

    private struct Object: Hashable {
        let type: String
        let name: String
    }

    /// How each object was made, without what SQLite may write in several ways: case, spaces and quotes.
    private let definitions: [Object: String]

    private init(_ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master")
        let objects = try rows.map { row in
            let (table, sql): (String, String?) = try (row.decode(atIndex: 2), row.decode(atIndex: 3))
            let definition = (table + (sql ?? "")).lowercased().filter { !$0.isWhitespace && !"\"'`[]".contains($0) }
            return (Object(type: try row.decode(atIndex: 0), name: try row.decode(atIndex: 1)), definition)
        }
        definitions = Dictionary(objects, uniquingKeysWith: { first, other in first + other })
    }

    /// The schema of a new catalog, kept once it is made. An error is not kept: there may be memory the next time.
    private static let expected = Mutex<CatalogSchema?>(nil)

    /// Why a database cannot be used as a catalog; nil if it can.
    static func problem(_ db: Database) throws -> CatalogError.Reason? {
        let found = try CatalogSchema(db)
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") == version else {
            return found.definitions.isEmpty ? .missing : .otherVersion
        }
        var known = expected.withLock { $0 }
        if known == nil {
            known = try DatabaseQueue().write { db in
                try create(db)
                return try CatalogSchema(db)
            }
            expected.withLock { [known] in $0 = known }
        }
        guard let known else { return nil }
        if let name = found.firstDifference(from: known) { return .damaged("“\(name)” is not what a catalog has") }
        return known.firstDifference(from: found).map { .damaged("“\($0)” is missing") }
    }

    /// The tables that `ANALYZE` makes.
    private static let statistics = [
        "sqlite_stat1createtablesqlite_stat1(tbl,idx,stat)",
        "sqlite_stat4createtablesqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    ]

    /// An object that differs from the one in another schema, or is not in it; nil if there is none.
    private func firstDifference(from other: CatalogSchema) -> String? {
        let names = definitions.filter { object, definition in
            let isStatistics = object.type == "table" && Self.statistics.contains(definition)
            return !isStatistics && other.definitions[object] != definition
        }.keys.map(\.name)
        return names.min()
    }
}

extension ImageRow {
    /// What follows a column of image rows in the condition that it is of an entity's images.
    ///
    /// - Parameter table: the name of a row of `entity`.
    static func isOfEntity(_ table: String = "entity") -> String {
        "BETWEEN \(table).row << \(placeBits) AND \(table).row << \(placeBits) | \(mostPlaces - 1)"
    }

    /// The row of an image's entity, in SQL.
    static func entity(ofColumn column: String) -> String { "(\(column) >> \(placeBits))" }
}

/// A row of the table of settings.
enum Setting: String {
    case catalogID, modelName, modelDigest, dimension
    /// SHA-256 of the local-feature model; absent from a catalog without local features.
    case localFeatureModel
    /// The version of the package that last opened the catalog for writing.
    case writtenBy
    /// Incremented with every change of metadata, which leaves prints and matrix unchanged.
    case metadataRevision
    /// The ``PrintIndexKind``; absent if it was not chosen.
    case printIndex

    func read(_ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM setting WHERE key = ?", arguments: [rawValue])
    }

    func write(_ value: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)", arguments: [rawValue, value])
    }

    /// The value as a counter of changes; 0 before the first.
    func count(_ db: Database) throws -> Int64 { Int64(try read(db) ?? "") ?? 0 }

    /// Increments the counter. The value need only differ from before.
    func raise(_ db: Database) throws { try write(String(try count(db) &+ 1), db) }
}

/// The states of a catalog in its database.
extension CatalogRevision {
    static func current(_ db: Database) throws -> CatalogRevision? {
        let sql = "SELECT number, token FROM revision ORDER BY number DESC LIMIT 1"
        return try Row.fetchOne(db, sql: sql).flatMap { row in
            let (number, token): (Int64, String) = try (row.decode(atIndex: 0), row.decode(atIndex: 1))
            return UUID(uuidString: token).map { CatalogRevision(number: number, token: $0) }
        }
    }

    /// Begins the next state, in the transaction that makes it.
    @discardableResult
    static func advance(_ db: Database) throws -> CatalogRevision {
        let (number, isTooLarge) = (try current(db)?.number ?? 0).addingReportingOverflow(1)
        guard !isTooLarge else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the number of its revision is too large")
        }
        let next = CatalogRevision(number: number, token: UUID())
        try next.insert(db)
        return next
    }

    fileprivate func insert(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO revision (number, token) VALUES (?, ?)", arguments: [number, token.uuidString])
    }

    /// Whether the database is in this state, or came from it: entities keep their rows then.
    func isPast(of db: Database) throws -> Bool {
        try String.fetchOne(db, sql: "SELECT token FROM revision WHERE number = ?", arguments: [number])
            == token.uuidString
    }

    /// Forgets the states before this one; a derived file of such a state is made anew.
    func forgetEarlier(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM revision WHERE number < ?", arguments: [number])
    }
}
