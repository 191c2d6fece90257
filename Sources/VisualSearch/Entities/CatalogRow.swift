import Catalogs
public import Compute
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

    /// The subtitle with its translations: the manifest's columns `subtitle` and `subtitle@ja`, …
    public var subtitle: LocalizedStringResource? { localized("subtitle", default: entity.subtitle) }

    private func localized(_ name: String, default text: String?) -> LocalizedStringResource? {
        var translations: [String: String] = [:]
        for (key, value) in entity.attributes where key.hasPrefix(name + "@") {
            translations[String(key.dropFirst(name.count + 1))] = value
        }
        // Without a text of its own, the first translation is better than none.
        guard let text = text ?? translations.min(by: { $0.key < $1.key })?.value else { return nil }
        return LocalizedStringResource(text, translations: translations)
    }
}

/// An app's entity that is decoded from a row of a catalog.
///
/// A `Decodable` type needs no implementation: its properties are read by their names from `id`, `type`, `title`,
/// `subtitle`, `labels`, `image` (a path), `images` (the paths of all), `thumbnail` (`Data`) and the manifest's other
/// columns. Columns are text; numbers, Booleans (`true`, `false`), dates and URLs are parsed from it. A date is a time
/// with its zone, `2024-05-01T10:00:00Z`, or a day, `2024-05-01`, which begins at midnight in UTC (ISO 8601).
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

extension IndexItem {
    /// The item to index for an entity, so that a catalog finds it by its picture and by its texts. Title and subtitle
    /// keep their translations.
    ///
    /// - Parameters:
    ///   - entity: an entity; nil is returned if its display has no picture in memory.
    ///   - type: the type of the row, for ``EntityCatalog``; nil for none.
    public init?<Entity: IndexedEntity>(indexing entity: Entity, type: String? = nil) where Entity.ID == String {
        let display = entity.displayRepresentation
        guard let picture = display.image?.data else { return nil }
        var attributes: [String: String] = [:]
        for (name, text) in [("title", display.title), ("subtitle", display.subtitle)] {
            for (language, translation) in text?.translations ?? [:] { attributes["\(name)@\(language)"] = translation }
        }
        let row = CatalogEntity(
            id: entity.id, type: type, title: display.title.defaultValue, subtitle: display.subtitle?.defaultValue,
            attributes: attributes)
        self.init(row, image: .data(picture))
    }
}

/// A row of a catalog that cannot be decoded as an app's entity.
public struct EntityProblem: DescribedError, Sendable, Equatable {
    /// The row's id.
    public let subject: String
    /// What is wrong with the row, for people.
    public let reason: String

    public var description: String { "entity “\(subject)” \(reason)" }

    init(id: String, entityType: String, error: any Error) {
        let words =
            switch error {
            case DecodingError.keyNotFound(let key, _): "it has no “\(key.stringValue)”"
            case DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context),
                DecodingError.dataCorrupted(let context):
                context.debugDescription
            default: "\(error)"
            }
        subject = id
        reason = "cannot be decoded as \(entityType): \(words)"
    }
}

/// Reads a `Decodable` type from a row of a catalog: named texts, a list of labels and a thumbnail.
private struct CatalogRowDecoder: Decoder {
    enum Value {
        case text(String)
        case list([String])
        case data(Data)
    }

    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private let values: [String: Value]

    init(_ row: CatalogRow) {
        let entity = row.entity
        var values = entity.attributes.mapValues { Value.text($0) }
        values["id"] = .text(entity.id)
        values["type"] = entity.type.map { .text($0) }
        values["title"] = entity.title.map { .text($0) }
        values["subtitle"] = entity.subtitle.map { .text($0) }
        values["labels"] = .list(entity.labels)
        values["image"] = .text(entity.image)
        values["images"] = .list(entity.images)
        values["thumbnail"] = row.thumbnail.map { .data($0) }
        self.values = values
    }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Columns(values: values))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw DecodingError.typeMismatch([String].self, .init(codingPath: [], debugDescription: "a row is no list"))
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        throw DecodingError.typeMismatch(
            String.self, .init(codingPath: [], debugDescription: "a row is no single value"))
    }

    private struct Columns<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let values: [String: Value]
        let codingPath: [any CodingKey] = []
        var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }

        private func cell(_ key: Key) throws -> Cell {
            guard let value = values[key.stringValue] else {
                throw DecodingError.keyNotFound(
                    key, .init(codingPath: [], debugDescription: "there is no “\(key.stringValue)”"))
            }
            return Cell(name: key.stringValue, value: value)
        }

        func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }
        func decodeNil(forKey key: Key) throws -> Bool { values[key.stringValue] == nil }
        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try cell(key).decode(type) }

        func nestedContainer<Nested: CodingKey>(keyedBy _: Nested.Type, forKey key: Key) throws
            -> KeyedDecodingContainer<Nested>
        {
            throw try cell(key).mismatch("several values by name")
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try cell(key).unkeyedContainer()
        }
        func superDecoder() throws -> any Decoder { CatalogRowDecoder(values: values) }
        func superDecoder(forKey key: Key) throws -> any Decoder { try cell(key) }
    }

    private init(values: [String: Value]) { self.values = values }

    /// The value of one column.
    private struct Cell: Decoder, SingleValueDecodingContainer {
        let name: String
        let value: Value
        let codingPath: [any CodingKey] = []
        let userInfo: [CodingUserInfoKey: Any] = [:]

        func mismatch(_ wanted: String) -> DecodingError {
            let found =
                switch value {
                case .text(let text): "“\(text)”"
                case .list: "a list"
                case .data: "data"
                }
            return .typeMismatch(
                String.self, .init(codingPath: [], debugDescription: "its “\(name)” is \(found), and not \(wanted)"))
        }

        func singleValueContainer() -> any SingleValueDecodingContainer { self }
        func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
            throw mismatch("several values by name")
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            switch value {
            case .list(let list): List(name: name, values: list)
            // A manifest writes lists with semicolons.
            case .text(let text):
                List(name: name, values: text.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) })
            case .data: throw mismatch("a list")
            }
        }

        func decodeNil() -> Bool { false }

        private static func date(_ text: String) -> Date? {
            (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: .iso8601.year().month().day()))
        }

        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            let decoded: Any?
            switch (value, type) {
            case (.data(let data), is Data.Type): decoded = data
            case (.text(let text), is Date.Type): decoded = Self.date(text)
            case (.text(let text), is URL.Type):
                decoded = text.hasPrefix("/") ? URL(fileURLWithPath: text) : URL(string: text)
            case (.text(let text), let scalar as any (LosslessStringConvertible & Decodable).Type):
                decoded = scalar.init(text)
            // The initializers of these types would ask for a text again, without end.
            case (_, is any (LosslessStringConvertible & Decodable).Type), (_, is Date.Type), (_, is URL.Type):
                throw mismatch("a \(T.self)")
            default: return try T(from: self)
            }
            guard let decoded = decoded as? T else { throw mismatch("a \(T.self)") }
            return decoded
        }
    }

    private struct List: UnkeyedDecodingContainer {
        let name: String
        let values: [String]
        let codingPath: [any CodingKey] = []
        var currentIndex = 0
        var count: Int? { values.count }
        var isAtEnd: Bool { currentIndex >= values.count }

        private mutating func next() throws -> Cell {
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    String.self, .init(codingPath: [], debugDescription: "its “\(name)” has no further value"))
            }
            defer { currentIndex += 1 }
            return Cell(name: name, value: .text(values[currentIndex]))
        }

        mutating func decodeNil() -> Bool { false }
        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }
        mutating func nestedContainer<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
            throw try next().mismatch("several values by name")
        }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
        mutating func superDecoder() throws -> any Decoder { try next() }
    }
}
