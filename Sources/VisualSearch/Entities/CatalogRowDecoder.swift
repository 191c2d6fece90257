import Catalogs
import Foundation

/// Reads a `Decodable` type from a row of a catalog: a flat list of named texts, with a list of labels and a thumbnail.
struct CatalogRowDecoder: Decoder {
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

    /// One column's value.
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
            // As in a manifest, where lists are written with semicolons.
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
            // Their initializers would ask for a text again, and again.
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

        init(name: String, values: [String]) {
            self.name = name
            self.values = values
        }

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
