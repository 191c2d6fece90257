import Foundation

/// A value in JSON: attributes can be numbers, Booleans or lists.
package enum JSONValue: Codable, Equatable, Sendable {
    case string(String), integer(Int64), number(Double), bool(Bool), array([JSONValue]), object([String: JSONValue]),
        null

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // Long numbers are ids more often than quantities: up to 38 digits are kept.
            let digits = abs(value) >= 0x1p63 ? try? container.decode(Decimal.self) : nil
            self = digits.map { .string("\($0)") } ?? .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
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
