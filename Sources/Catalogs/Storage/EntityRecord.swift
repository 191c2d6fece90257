import Foundation
import GRDB
import Inference

/// A row of the table of entities.
struct EntityRecord: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "entity"

    var row: Int64?
    var id: String
    var type: String?
    var title: String?
    var subtitle: String?
    var labels: [String]
    var attributes: [String: String]
    var image: String
    var size: Int64
    /// Nanoseconds since 1970.
    var modified: Int64
    /// SHA-256.
    var contentHash: Data

    mutating func didInsert(_ inserted: InsertionSuccess) { row = inserted.rowID }

    init(_ entity: CatalogEntity, file: FileStamp, contentHash: Data) {
        id = entity.id
        type = entity.type
        title = entity.title
        subtitle = entity.subtitle
        labels = entity.labels
        attributes = entity.attributes
        image = entity.image
        size = file.size
        modified = file.modified
        self.contentHash = contentHash
    }

    /// - Throws: `DatabaseError`, which names the row, for values of another type and for malformed JSON.
    init(row: Row) throws {
        do {
            self = try FetchableRecordDecoder().decode(Self.self, from: row)
        } catch let error as DecodingError {
            throw Self.damage(row, describe(error))
        } catch let error as RowDecodingError {
            throw Self.damage(row, error.summary)
        }
    }

    private static func damage(_ row: Row, _ reason: String) -> DatabaseError {
        let number = row.hasColumn("row") ? Int64.fromDatabaseValue(row["row"]).map { "\($0)" } : nil
        return DatabaseError(
            resultCode: .SQLITE_CORRUPT, message: "row \(number ?? "?") of its entities cannot be read: \(reason)")
    }

    var entity: CatalogEntity {
        CatalogEntity(
            id: id, type: type, title: title, subtitle: subtitle, labels: labels, attributes: attributes, image: image)
    }

    /// What problems call it.
    var origin: String { image.isEmpty ? "entity “\(id)”" : image }

    var file: FileStamp { FileStamp(size: size, modified: modified) }
}

/// A stored entity, with its row in the database.
package struct StoredEntity: Sendable {
    package let entity: CatalogEntity
    package let key: Int64
    /// A JPEG file; nil if none was made or requested.
    package let thumbnail: Data?
}

extension CatalogEntity {
    /// What the index of fields has of the entity. The id has an index of its own.
    var indexedFields: [(field: EntityField, text: String)] {
        [(.type, type), (.title, title), (.subtitle, subtitle)].compactMap { field, text in text.map { (field, $0) } }
            + labels.map { (.label, $0) } + attributes.map { (.attribute($0.key), $0.value) }
    }
}
