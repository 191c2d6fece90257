import Foundation
import GRDB

/// A state of the entities and prints of a catalog.
///
/// The number counts the changes. The token is random, so that two states that have the same number, such as after a
/// backup was restored and changed in another way, are never taken for each other.
struct CatalogRevision: Hashable, Sendable {
    let number: Int64
    let token: UUID

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
        try db.execute(
            sql: "INSERT INTO revision (number, token) VALUES (?, ?)", arguments: [next.number, next.token.uuidString])
        return next
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
