import GRDB

/// The rows of the table of settings. Raw values are the stored names.
enum Setting: String {
    case catalogID, modelName, modelDigest
    /// SHA-256 of the local-feature model; absent from a catalog without local features.
    case localFeatureModel
    /// The version of the package that last opened the catalog for writing.
    case writtenBy
    case metadataRevision = "descriptions"
    case dimension = "printLength"

    func read(_ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM setting WHERE key = ?", arguments: [rawValue])
    }

    func write(_ value: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)", arguments: [rawValue, value])
    }

    /// A counter of changes; 0 before the first.
    func count(_ db: Database) throws -> Int64 { Int64(try read(db) ?? "") ?? 0 }

    /// It need only differ from before.
    func raise(_ db: Database) throws { try write(String(try count(db) &+ 1), db) }
}
