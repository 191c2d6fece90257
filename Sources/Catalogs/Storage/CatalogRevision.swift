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
        try Row.fetchOne(db, sql: "SELECT number, token FROM revision ORDER BY number DESC LIMIT 1").flatMap { row in
            UUID(uuidString: row[1]).map { CatalogRevision(number: row[0], token: $0) }
        }
    }

    /// Begins the next state, in the transaction that makes it.
    @discardableResult
    static func advance(_ db: Database) throws -> CatalogRevision {
        let next = CatalogRevision(number: try (current(db)?.number ?? 0) + 1, token: UUID())
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
