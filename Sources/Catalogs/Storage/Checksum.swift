import Compute
import Foundation
import GRDB

/// Digests of what is stored of an entity's image, and the revision at which it was stored.
///
/// Each digest is of the entity's id too, so ``Catalog/verify()`` finds blobs that were damaged and blobs that were
/// swapped. Derived files take over the entities whose revision is not later than their own.
enum Checksum {
    /// The first half of the SHA-256 of the id, a zero byte and the blob.
    static func digest(of blob: Data, id: String) -> Data {
        SHA256.hash(Data(id.utf8) + [0] + blob).prefix(16)
    }

    static func write(
        row: Int64?, id: String, revision: CatalogRevision, print: Data, localFeatures: Data?, thumbnail: Data?,
        _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO checksum (row, revision, print, localFeatures, thumbnail) VALUES (?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                row, revision.number, digest(of: print, id: id), localFeatures.map { digest(of: $0, id: id) },
                thumbnail.map { digest(of: $0, id: id) },
            ])
    }

    /// Makes the table, with the digests of what an earlier version stored.
    static func createTable(_ db: Database) throws {
        try db.create(table: "checksum") { table in
            table.primaryKey("row", .integer).references("entity", onDelete: .cascade)
            table.column("revision", .integer).notNull()
            for blob in ["print", "localFeatures", "thumbnail"] { table.column(blob, .blob) }
        }
        let function = DatabaseFunction("lookalikeDigest", argumentCount: 2, pure: true) { values in
            guard let id = String.fromDatabaseValue(values[0]), let blob = Data.fromDatabaseValue(values[1]) else {
                return nil
            }
            return digest(of: blob, id: id)
        }
        db.add(function: function)
        defer { db.remove(function: function) }
        try db.execute(
            sql: """
                INSERT INTO checksum (row, revision, print, localFeatures, thumbnail)
                SELECT entity.row, 0, lookalikeDigest(id, print.vector), lookalikeDigest(id, localFeatures.data),
                    lookalikeDigest(id, thumbnail.data)
                FROM entity LEFT JOIN print USING (row) LEFT JOIN localFeatures USING (row)
                    LEFT JOIN thumbnail USING (row)
                ORDER BY entity.row
                """)
    }
}
