package import CatalogEntities
import GRDB

/// The names in conditions and lookups, as the entities have them.
extension EntityStore {
    /// The condition with the names of fields as the entities have them, where they differ by case alone.
    ///
    /// A field may be missing, with its values, if the condition asks for it by `exists`. A catalog without entities
    /// has no names, and so no wrong ones.
    ///
    /// - Throws: ``CatalogError`` for an attribute that no entity has, and for one that is compared as a number or date
    ///   and is none in any entity.
    /// - Complexity: O(fields · log entities), and O(attributes · log entities) if there is another one.
    func resolved(_ condition: Condition, _ db: Database) throws -> Condition {
        let tests = condition.tests
        let optional = Set(tests.filter(\.isExistence).map { ExactText($0.field.storedName) })
        var fields: [ExactText: EntityField] = [:]
        let kinds = Dictionary(grouping: tests) { ExactText($0.field.storedName) }.mapValues { Set($0.map(\.kind)) }
        for test in tests {
            let name = ExactText(test.field.storedName)
            guard fields[name] == nil else { continue }
            let isOptional = optional.contains(name)
            let field = try resolved(test.field, isOptional: isOptional, db)
            fields[name] = field
            if !isOptional { try check(field, isOneOf: kinds[name] ?? [], db) }
        }
        return condition.replacingFields { fields[ExactText($0.storedName)] ?? $0 }
    }

    /// The field that the entities have, whose name may differ by case alone.
    ///
    /// - Throws: ``CatalogError`` if no entity has the attribute.
    package func resolved(_ field: EntityField) throws -> EntityField {
        try read { try resolved(field, $0) }
    }

    func resolved(_ field: EntityField, _ db: Database) throws -> EntityField {
        try resolved(field, isOptional: false, db)
    }

    private func resolved(_ field: EntityField, isOptional: Bool, _ db: Database) throws -> EntityField {
        guard let name = field.attributeName else { return field }
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM field WHERE name = ? LIMIT 1")
        if try Int.fetchOne(statement, arguments: [field.storedName]) != nil { return field }
        let known = try Self.knownFields(db)
        let alike = known.filter { ($0.attributeName ?? $0.storedName).lowercased() == name.lowercased() }
        if alike.count == 1 { return alike[0] }
        guard !isOptional, try Self.hasEntities(db) else { return field }
        throw folder.error(.unknownAttribute(name, nearest: name.nearest(among: known.map(\.description))))
    }

    /// - Throws: ``CatalogError`` if a field is to be a number or a date, and all of its values are other texts.
    private func check(_ field: EntityField, isOneOf kinds: Set<Condition.Test.Kind>, _ db: Database) throws {
        if kinds.contains(.any) { return }
        for column in kinds.map({ $0 == .number ? "number" : "instant" }) {
            let statement = try db.cachedStatement(
                sql: "SELECT 1 FROM field WHERE name = ? AND \(column) IS NOT NULL LIMIT 1")
            if try Int.fetchOne(statement, arguments: [field.storedName]) != nil { return }
        }
        let values = field == .id ? "id FROM entity WHERE ? = 'id'" : "text FROM field WHERE name = ?"
        let statement = try db.cachedStatement(sql: "SELECT \(values) LIMIT 1")
        guard let value = try String.fetchOne(statement, arguments: [field.storedName]) else { return }
        throw folder.error(.incomparable(field.description, value: value))
    }

    /// An error for each type that a condition names and no entity has; none for a catalog without entities.
    package func unknownTypes(in condition: Condition) throws -> [CatalogError] {
        let types = condition.tests.filter { $0.field == .type }.flatMap(\.values)
        return try read { db in
            let statement = try db.cachedStatement(
                sql: "SELECT 1 FROM field WHERE name = 'type' AND folded = ? LIMIT 1")
            let unknown = try types.filter {
                try Int.fetchOne(statement, arguments: [TextFolding.folded($0)]) == nil
            }
            guard !unknown.isEmpty, try Self.hasEntities(db) else { return [] }
            let known = try Self.ascending(
                db, "SELECT MIN(folded) FROM field WHERE name = 'type' AND folded > ?", from: "")
            return unknown.map { folder.error(.unknownType($0, nearest: $0.nearest(among: known))) }
        }
    }

    private static func hasEntities(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "SELECT 1 FROM entity LIMIT 1") != nil
    }

    /// The fields that an entity may have, and the attributes that one has.
    private static func knownFields(_ db: Database) throws -> [EntityField] {
        let prefix = EntityField.attribute("").storedName
        let names = try ascending(
            db, "SELECT MIN(name) FROM field WHERE name > ? AND name < 'attribute/'", from: prefix)
        return EntityField.named.values + names.map { .attribute(String($0.dropFirst(prefix.count))) }
    }

    /// The distinct texts of an index, by a query for the next one: SQLite would read all rows for the distinct ones.
    private static func ascending(_ db: Database, _ next: String, from start: String) throws -> [String] {
        let statement = try db.cachedStatement(sql: next)
        var texts: [String] = []
        while texts.count < mostNames, let text = try String.fetchOne(statement, arguments: [texts.last ?? start]) {
            texts.append(text)
        }
        return texts
    }

    /// The names that are compared with an unknown one.
    private static let mostNames = 10_000
}
