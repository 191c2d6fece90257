import Catalogs
import Foundation

/// A row of a catalog, from which an app's own type is decoded.
public struct CatalogRow: Sendable {
    /// The entity's metadata.
    public let entity: CatalogEntity
    /// A JPEG thumbnail; nil if the catalog has none.
    public let thumbnail: Data?

    /// A row with an entity and its thumbnail.
    public init(entity: CatalogEntity, thumbnail: Data? = nil) {
        self.entity = entity
        self.thumbnail = thumbnail
    }

    package init(_ stored: StoredEntity) { self.init(entity: stored.entity, thumbnail: stored.thumbnail) }

    /// The id of the entity.
    public var id: String { entity.id }

    /// The title with its translations: the manifest's columns `title` and `title@ja`, `title@pt-BR`, …
    public var title: LocalizedStringResource? { localized("title", default: entity.title) }

    /// The subtitle with its translations, from `subtitle` and `subtitle@ja`, ….
    public var subtitle: LocalizedStringResource? { localized("subtitle", default: entity.subtitle) }

    private func localized(_ name: String, default text: String?) -> LocalizedStringResource? {
        var translations: [String: String] = [:]
        for (key, value) in entity.attributes where key.hasPrefix(name + "@") {
            translations[String(key.dropFirst(name.count + 1))] = value
        }
        // A title with translations only: the first is better than none.
        guard let text = text ?? translations.min(by: { $0.key < $1.key })?.value else { return nil }
        return LocalizedStringResource(text, translations: translations)
    }
}

/// An app's entity that is decoded from a row of a catalog.
///
/// A `Decodable` type needs no implementation: its properties are read from `id`, `type`, `title`,
/// `subtitle`, `labels`, `image` (a path), `thumbnail` (`Data`) and the manifest's other columns by their names.
/// Columns are text; numbers, Booleans (`true`, `false`), dates and URLs are parsed from it. A date is a time with its
/// zone, `2024-05-01T10:00:00Z`, or a day, `2024-05-01`, which begins at midnight in UTC (ISO 8601).
public protocol CatalogRepresentable: AppEntity where ID == String {
    /// Decodes a row.
    ///
    /// - Throws: an error for a row that cannot be decoded. Searches skip the row and report it.
    init(_ row: CatalogRow) throws
}

extension CatalogRepresentable where Self: Decodable {
    /// Decodes a row.
    ///
    /// - Throws: an error for a row that cannot be decoded. Searches skip the row and report it.
    public init(_ row: CatalogRow) throws {
        try self.init(from: CatalogRowDecoder(row))
    }
}

/// A row of a catalog that cannot be decoded as an app's entity.
public struct EntityProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The row's id.
    public let id: String
    /// The type that was to be decoded.
    public let entityType: String
    /// What is wrong with the row, for people.
    public let reason: String

    public var description: String { "entity “\(id)” cannot be decoded as \(entityType): \(reason)" }

    init(id: String, entityType: String, error: any Error) {
        self.id = id
        self.entityType = entityType
        reason =
            switch error {
            case DecodingError.keyNotFound(let key, _): "it has no “\(key.stringValue)”"
            case DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context),
                DecodingError.dataCorrupted(let context):
                context.debugDescription
            default: "\(error)"
            }
    }
}
