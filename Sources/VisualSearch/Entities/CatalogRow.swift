import Catalogs
import Foundation

/// What a catalog holds of an entity, as an app's own type is made from it.
public struct CatalogRow: Sendable {
    public let entity: CatalogEntity
    /// A small JPEG file of its image; nil where the catalog keeps none.
    public let thumbnail: Data?

    public init(entity: CatalogEntity, thumbnail: Data? = nil) {
        self.entity = entity
        self.thumbnail = thumbnail
    }

    package init(_ stored: StoredEntity) { self.init(entity: stored.entity, thumbnail: stored.thumbnail) }

    public var id: String { entity.id }

    /// The title with its translations: the manifest's columns `title` and `title@ja`, `title@pt-BR`, …
    public var title: LocalizedStringResource? { localized("title", default: entity.title) }

    /// The subtitle with its translations, from `subtitle` and `subtitle@ja`, ….
    public var subtitle: LocalizedStringResource? { localized("subtitle", default: entity.subtitle) }

    private func localized(_ name: String, default text: String?) -> LocalizedStringResource? {
        var translations: [String: String] = [:]
        for (key, value) in entity.attributes where key.hasPrefix(name + "@") { translations[String(key.dropFirst(name.count + 1))] = value }
        // Of a title that is there in other languages alone, the first is better than none.
        guard let text = text ?? translations.min(by: { $0.key < $1.key })?.value else { return nil }
        return LocalizedStringResource(text, translations: translations)
    }
}

/// An app's entity that can be made from a row of a catalog.
///
/// For a type that is `Decodable` there is nothing to write: its properties are read from `id`, `type`, `title`,
/// `subtitle`, `labels`, `image` (a path), `thumbnail` (`Data`) and the manifest's other columns by their names.
/// Columns are text; numbers, truth values (`true`, `false`), dates (ISO 8601) and URLs are read from it.
public protocol CatalogRepresentable: AppEntity where ID == String {
    init(_ row: CatalogRow) throws
}

extension CatalogRepresentable where Self: Decodable {
    public init(_ row: CatalogRow) throws {
        try self.init(from: CatalogRowDecoder(row))
    }
}

/// A row of a catalog that an app's entity cannot be made from.
public struct EntityProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The row's id.
    public let id: String
    public let entityType: String
    public let reason: String

    public var description: String { "entity “\(id)” makes no \(entityType): \(reason)" }

    init(id: String, entityType: String, error: any Error) {
        self.id = id
        self.entityType = entityType
        reason = switch error {
        case DecodingError.keyNotFound(let key, _): "it has no “\(key.stringValue)”"
        case DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
            context.debugDescription
        default: "\(error)"
        }
    }
}
