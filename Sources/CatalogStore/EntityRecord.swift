package import CatalogEntities
package import Foundation
package import GRDB
import Inference

/// A row of the table of entities.
package struct EntityRecord: Decodable, FetchableRecord {
    package var row: Int64?
    package var id: String
    var type: String?
    var title: String?
    var subtitle: String?
    var labels: [String]
    var attributes: [String: String]
    /// A path per image, in the order of their rows.
    package var images: [String]
    /// What the text index has beside title, subtitle and labels.
    var words: String?

    /// The record of an entity. An empty text is no value, as in a manifest.
    package init(_ entity: CatalogEntity) {
        func value(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        id = entity.id
        type = value(entity.type)
        title = value(entity.title)
        subtitle = value(entity.subtitle)
        labels = entity.labels.filter { !$0.isEmpty }
        attributes = entity.attributes.filter { !$0.value.isEmpty }
        images = entity.images
        words = SearchedWord.index(of: [title, subtitle] + labels)
    }

    /// - Throws: `DatabaseError`, which names the row, for values of another type and for malformed JSON.
    package init(row: Row) throws {
        do {
            self = try FetchableRecordDecoder().decode(Self.self, from: row)
        } catch let error as DecodingError {
            throw Self.damage(row, describe(error))
        } catch let error as RowDecodingError {
            throw Self.damage(row, error.summary)
        }
    }

    /// Takes the place of the stored one with its row; a new one gets a row. As a statement, since GRDB's coding of
    /// records takes longer than SQLite's insertion.
    mutating func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO entity (row, id, type, title, subtitle, labels, attributes, images, words)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (row) DO UPDATE SET
                id = excluded.id, type = excluded.type, title = excluded.title, subtitle = excluded.subtitle,
                labels = excluded.labels, attributes = excluded.attributes, images = excluded.images,
                words = excluded.words
                """)
        try statement.execute(
            arguments: [
                row, id, type, title, subtitle, JSONLine.text(labels), JSONLine.text(attributes),
                JSONLine.text(images), words,
            ])
        if row == nil { row = db.lastInsertedRowID }
    }

    private static func damage(_ row: Row, _ reason: String) -> DatabaseError {
        let number = row.hasColumn("row") ? Int64.fromDatabaseValue(row["row"]).map { "\($0)" } : nil
        return DatabaseError(
            resultCode: .SQLITE_CORRUPT, message: "row \(number ?? "?") of its entities cannot be read: \(reason)")
    }

    package var entity: CatalogEntity {
        CatalogEntity(
            id: id, type: type, title: title, subtitle: subtitle, labels: labels, attributes: attributes,
            images: images)
    }

    /// What problems call it.
    package var origin: String { images.first.flatMap { $0.isEmpty ? nil : $0 } ?? "entity “\(id)”" }

    /// The paths in a value of the column `images`.
    static func paths(_ json: String) throws -> [String] {
        guard let paths = try? JSONDecoder().decode([String].self, from: Data(json.utf8)) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the images of an entity cannot be read")
        }
        return paths
    }
}

/// What is stored of an entity, for an indexer.
package struct KnownEntity: Sendable {
    package let record: EntityRecord
    /// One per path of the record, unless the database is damaged.
    package var images: [KnownImage]
}

/// What is stored of an image, for an indexer.
package struct KnownImage: Sendable {
    package let file: ImageStamp
    /// SHA-256.
    package let contentHash: Data
    package let hasLocalFeatures: Bool
}

extension FieldNumber: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue {
        switch self {
        case .real(let number): number.databaseValue
        case .whole(let number): number.databaseValue
        }
    }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> FieldNumber? {
        if case .int64(let number) = value.storage, Int64(exactly: Double(number)) != number { return .whole(number) }
        return Double.fromDatabaseValue(value).map(FieldNumber.real)
    }
}

/// A value of an entity in the index of fields.
struct IndexedField {
    let name: String
    let text: String
    let number: FieldNumber?
    let instant: Double?
    /// The place of the value in its list; 0 for a value that is not in one.
    let place: Int

    init(name: String, text: String, place: Int) {
        (self.name, self.text, self.place) = (name, text, place)
        (number, instant) = (FieldNumber(text), DateSpan(text)?.start)
    }

    init(code: ProductCode) {
        (name, text, number, instant, place) = (ProductCode.storedName, code.canonical, nil, nil, 0)
    }
}

extension CatalogEntity {
    /// What the index of fields has of the entity: its fields by their stored names, the values of lists with their
    /// places, and its product codes in one form. The id has an index of its own.
    var indexedFields: [IndexedField] {
        let fields: [(EntityField, String?, Int)] =
            [(.type, type, 0), (.title, title, 0), (.subtitle, subtitle, 0)] + labels.map { (.label, $0, 0) }
            + attributes.flatMap { name, value in
                AttributeList.texts(of: value).enumerated().map { (.attribute(name), $1, $0) }
            }
        return fields.compactMap { field, text, place in
            text.map { IndexedField(name: field.storedName, text: $0, place: place) }
        } + productCodes.map { IndexedField(code: $0) }
    }
}

extension ImageStamp {
    /// From a row of the table of images.
    init(_ row: Row) throws {
        self.init(
            file: FileStamp(size: try row.decode(forColumn: "size"), modified: try row.decode(forColumn: "modified")),
            changed: try row.decode(forColumn: "changed"), inode: try row.decode(forColumn: "inode"))
    }
}
