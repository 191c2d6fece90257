package import Foundation

/// A value in JSON: attributes can be numbers, Booleans or lists.
package enum JSONValue: Codable, Equatable, Sendable {
    case string(String), integer(Int64), number(Double), bool(Bool), array([JSONValue]), object([String: JSONValue]),
        null

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            // The first one asked for, since most are texts and every refusal is an error that is made.
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // Long numbers are ids more often than quantities: up to 38 digits are kept.
            let digits = abs(value) >= 0x1p63 ? try? container.decode(Decimal.self) : nil
            self = digits.map { .string("\($0)") } ?? .number(value)
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try container.decode([JSONValue].self))
        } else {
            do {
                self = .object(try container.decode([String: JSONValue].self))
            } catch DecodingError.typeMismatch(_, let context)
                where context.codingPath.count == decoder.codingPath.count
            {
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: decoder.codingPath,
                        debugDescription: "a number out of the range of doubles, or a text that is not Unicode"))
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .bool(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        case .null: try container.encodeNil()
        }
    }

    /// Whether it is a text, a number or a Boolean.
    package var isScalar: Bool {
        switch self {
        case .string, .integer, .number, .bool: true
        case .array, .object, .null: false
        }
    }

    /// The text of an attribute, or of an id. That of an array is an array in JSON; see ``AttributeList``.
    package var text: String {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        case .array(let values): "[\(values.compactMap(\.memberJSON).joined(separator: ","))]"
        case .object(let values):
            values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: ";")
        case .null: ""
        }
    }

    /// JSON of a member of a list; nil for null. What is nested deeper is its text.
    private var memberJSON: String? {
        switch self {
        case .null: nil
        case .integer, .number, .bool: text
        case .string, .array, .object: try? JSONLine.text(text)
        }
    }
}

/// What a text of JSON looks like before it is decoded, which keeps the last of two values with the same key.
package struct JSONShape: Sendable {
    /// How deep arrays and objects are nested, including the outermost.
    package private(set) var nesting = 0
    /// The first key that an object has twice, or two that Swift takes for the same.
    package private(set) var repeatedKey: String?

    /// Decoders refuse deeper texts.
    private static let deepest = 512

    /// Scans a text. O(bytes).
    package init(_ text: Data) { text.withUnsafeBytes { scan($0) } }

    private mutating func scan(_ text: UnsafeRawBufferPointer) {
        /// The keys of the open objects; nil for arrays.
        var open: [Set<String>?] = []
        var index = 0
        /// Whether the next string is a key of the innermost object.
        var isKey = false
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                isKey = text[index] == UInt8(ascii: "{")
                open.append(isKey ? [] : nil)
                nesting = max(nesting, open.count)
                if nesting > Self.deepest { return }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = open.popLast()
                isKey = false
            case UInt8(ascii: ","): isKey = open.last.flatMap(\.self) != nil
            case UInt8(ascii: "\""):
                let start = index
                index += 1
                while index < text.count, text[index] != UInt8(ascii: "\"") {
                    index += text[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                guard index < text.count else { return }
                guard isKey else { break }
                isKey = false
                guard repeatedKey == nil,
                    let key = Self.key(UnsafeRawBufferPointer(rebasing: text[start...index])),
                    open[open.count - 1]?.insert(key).inserted == false
                else { break }
                repeatedKey = key
            default: break
            }
            index += 1
        }
    }

    /// The text of a string, which may be no JSON.
    private static func key(_ literal: UnsafeRawBufferPointer) -> String? {
        guard literal.contains(UInt8(ascii: "\\")) else {
            return String(decoding: literal.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(literal))
    }
}
