import GRDB

/// Compares the index of the entities' text with the entities.
///
/// FTS5 can check an index, but only where it can write, and SQLite's `integrity_check` looks into virtual tables since
/// 3.44 alone. So both are copied to a temporary database, where FTS5 indexes the text again
/// (https://www.sqlite.org/fts5.html, “integrity-check”).
enum TextIndexVerification {
    /// Whether the index is that of the entities. O(text).
    static func isIntact(_ db: Database) throws -> Bool {
        // SQLite keeps what does not fit into its cache in a file that it deletes.
        let copy = try DatabaseQueue(path: "")
        return try copy.write { copy in
            try copy.execute(
                sql: """
                    CREATE VIRTUAL TABLE entityText USING fts5(
                        title, subtitle, labels, tokenize='unicode61 remove_diacritics 2', prefix='2 3');
                    DELETE FROM entityText_data;
                    """)
            let contents = "SELECT row, title, subtitle, labels FROM entity"
            for (query, table) in [
                (contents, "content"), ("SELECT id, block FROM entityText_data", "data"),
                ("SELECT segid, term, pgno FROM entityText_idx", "idx"),
                ("SELECT id, sz FROM entityText_docsize", "docsize"),
            ] {
                let selection = try db.makeStatement(sql: query)
                let places = (0..<selection.columnCount).map { _ in "?" }.joined(separator: ", ")
                let insertion = try copy.makeStatement(sql: "INSERT INTO entityText_\(table) VALUES (\(places))")
                let rows = try Row.fetchCursor(selection)
                while let row = try rows.next() {
                    try insertion.execute(arguments: StatementArguments(row.databaseValues))
                }
            }
            do {
                try copy.execute(sql: "INSERT INTO entityText (entityText) VALUES ('integrity-check')")
                return true
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                return false
            }
        }
    }
}
