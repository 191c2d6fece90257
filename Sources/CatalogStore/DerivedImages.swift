import CatalogEntities
import Foundation
import GRDB

/// The images of a derived file in the catalog's order: taken over from an earlier file, or read from the database.
struct DerivedImages {
    /// The table of the blobs, which is also the column of their digest in `image`.
    let table: String
    let column: String
    /// The keys of the earlier file, ascending, and its revision; nil without one.
    let earlier: (keys: UnsafeBufferPointer<Int64>, revision: CatalogRevision)?

    enum Origin {
        /// The position in the earlier file.
        case earlier(Int)
        case blob(Data)
    }

    /// Calls `body` for every image. Only the blobs that changed since the earlier file are read.
    func forEach(_ db: Database, _ body: (Int64, Origin) throws -> Void) throws {
        // Before all of them, also in a damaged database.
        let revision = earlier?.revision.number ?? .min
        let keys = earlier?.keys ?? UnsafeBufferPointer(start: nil, count: 0)
        let same = try Int64.fetchCursor(
            db, sql: "SELECT row FROM image WHERE revision <= ? AND \(table) IS NOT NULL ORDER BY row",
            arguments: [revision])
        var position = 0
        var nextSame = earlier == nil ? nil : try same.next()
        /// - Parameter key: nil for all that are left.
        func takeOver(before key: Int64?) throws {
            while let row = nextSame, key.map({ row < $0 }) ?? true {
                while position < keys.count, keys[position] < row { position += 1 }
                if position < keys.count, keys[position] == row { try body(row, .earlier(position)) }
                nextSame = try same.next()
            }
        }
        let changed = try Row.fetchCursor(
            db,
            sql: """
                SELECT blobs.row, blobs.\(column) FROM image CROSS JOIN \(table) AS blobs \
                WHERE image.revision > ? AND blobs.row = image.row ORDER BY image.row
                """, arguments: [revision])
        while let row = try changed.next() {
            let key: Int64 = try row.decode(atIndex: 0)
            try takeOver(before: key)
            // A damaged database may have a number instead of a blob.
            try body(key, .blob(Data.fromDatabaseValue(row[1]) ?? Data()))
        }
        try takeOver(before: nil)
    }
}
