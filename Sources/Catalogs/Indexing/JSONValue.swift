import Foundation

/// Any JSON value, so that attributes can be numbers, Booleans or lists.
enum JSONValue: Decodable, Equatable {
    case string(String), integer(Int64), number(Double), bool(Bool), array([JSONValue]), object([String: JSONValue]),
        null

    init(from decoder: any Decoder) throws {
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

    /// The text of an attribute.
    var text: String {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        case .array(let values): values.map(\.text).joined(separator: ";")
        case .object(let values):
            values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: ";")
        case .null: ""
        }
    }

    /// Deeper values are refused: decoding takes time that grows with the square of the depth.
    static let deepestNesting = 32

    /// How deep arrays and objects are nested in a text of JSON, including the outermost, and how many keys that has.
    /// O(bytes).
    static func shape(of text: some Sequence<UInt8>) -> (nesting: Int, keyCount: Int) {
        var (depth, deepest, keyCount) = (0, 0, 0)
        var (isInString, isEscaped) = (false, false)
        for byte in text {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                case UInt8(ascii: ":"): keyCount += depth == 1 ? 1 : 0
                default: break
                }
            }
        }
        return (deepest, keyCount)
    }
}
