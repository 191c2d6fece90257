import GRDB

/// The tables, indexes, views and triggers of a database.
///
/// SQLite runs what the schema says: a view may be endless, a trigger or a generated column may take any time and
/// memory. So a database with anything that no catalog has is not used.
struct CatalogSchema: Equatable, Sendable {
    private struct Object: Hashable {
        let type: String
        let name: String
    }

    /// How each object was made, without what SQLite and GRDB may write in several ways: case, spaces and quotes.
    private let definitions: [Object: String]

    /// That of a catalog of this version.
    ///
    /// Earlier versions had some of the same objects. If a migration ever changes one, its earlier definitions belong
    /// here, too.
    static func current(_ migrator: DatabaseMigrator) throws -> CatalogSchema {
        let database = try DatabaseQueue()
        try migrator.migrate(database)
        return try database.read(CatalogSchema.init)
    }

    init(_ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master")
        let objects = try rows.map { row in
            let (table, sql): (String, String?) = try (row.decode(atIndex: 2), row.decode(atIndex: 3))
            let definition = (table + (sql ?? "")).lowercased().filter { !$0.isWhitespace && !"\"'`[]".contains($0) }
            return (Object(type: try row.decode(atIndex: 0), name: try row.decode(atIndex: 1)), definition)
        }
        definitions = Dictionary(objects, uniquingKeysWith: { first, other in first + other })
    }

    /// The tables that `ANALYZE` makes.
    private static let statistics = [
        "sqlite_stat1createtablesqlite_stat1(tbl,idx,stat)",
        "sqlite_stat4createtablesqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    ]

    /// The migrations that were done are kept in a plain table, or nowhere.
    func canReadMigrations(as current: CatalogSchema) -> Bool {
        let found = definitions.filter { $0.key.name == "grdb_migrations" }
        return found.allSatisfy { current.definitions[$0.key] == $0.value }
    }

    /// An object that differs from the one in another schema, or is not in it; nil if there is none.
    func firstDifference(from other: CatalogSchema) -> String? {
        let names = definitions.filter { object, definition in
            let isStatistics = object.type == "table" && Self.statistics.contains(definition)
            return !isStatistics && other.definitions[object] != definition
        }.keys.map(\.name)
        return names.min()
    }
}
