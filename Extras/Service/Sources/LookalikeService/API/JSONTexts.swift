#if Service
import CatalogEntities
import Foundation

/// The bytes of an image in JSON: base64, alone or as a data URL (RFC 2397), as browsers make them of a canvas.
struct ImageText: Decodable, Sendable {
    let data: Data

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        func damage(_ words: String) -> DecodingError {
            DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: words))
        }
        if Self.isDataURL(text.utf8) {
            guard let data = Self.data(ofURL: text.utf8) else { throw damage("a data URL that is not in base64") }
            self.data = data
        } else {
            guard let data = Data(base64Encoded: text) else { throw damage("neither base64 nor a data URL") }
            self.data = data
        }
    }

    /// The bytes of an image file in a body or a form: themselves, or what they are as a data URL.
    ///
    /// - Throws: ``Problem`` for a data URL that is not in base64.
    static func bytes(_ data: Data) throws(Problem) -> Data {
        guard isDataURL(data) else { return data }
        guard let image = Self.data(ofURL: data) else {
            throw Problem(.unusableImage, "The image is a data URL that is not in base64.")
        }
        return image
    }

    static func isDataURL(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.prefix(5).map { $0 | 0x20 }.elementsEqual("data:".utf8.map { $0 | 0x20 })
    }

    /// Nil for data that is not in base64. The padding may be missing, and characters may be percent-encoded.
    private static func data(ofURL bytes: some Collection<UInt8>) -> Data? {
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")) else { return nil }
        let parameters = String(decoding: bytes[..<comma].prefix(256), as: UTF8.self).lowercased()
        guard parameters.split(separator: ";").dropFirst().last?.trimmingCharacters(in: .whitespaces) == "base64" else {
            return nil
        }
        var text = String(decoding: bytes[bytes.index(after: comma)...], as: UTF8.self)
        if text.utf8.contains(UInt8(ascii: "%")) {
            guard let decoded = text.removingPercentEncoding else { return nil }
            text = decoded
        }
        text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let missing = (4 - text.utf8.count % 4) % 4
        return Data(base64Encoded: missing == 3 ? text : text + String(repeating: "=", count: missing))
    }
}

/// An id in JSON: a text, or an integer, as manifests may have it.
struct IDText: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.text = text
        } else if let number = try? container.decode(Int64.self) {
            text = String(number)
        } else {
            // Up to 38 digits.
            guard let number = try? container.decode(Decimal.self), number.isFinite, number.exponent >= 0 else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "neither a text nor an integer"))
            }
            text = "\(number)"
        }
    }
}

/// The value of an attribute in JSON: a text, a number, a Boolean, or a list of such. Catalogs keep it as text, as of a
/// manifest.
struct AttributeValue: Decodable, Sendable {
    let text: String
    /// The value of a JSON number that is as exact as numbers are compared; nil otherwise.
    private(set) var number: Double?
    private(set) var isList = false

    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        text = value.text
        switch value {
        case .string, .bool: break
        case .array(let members) where members.allSatisfy(\.isScalar): isList = true
        case .integer(let value): number = abs(Double(value)) <= Self.largestInteger ? Double(value) : nil
        case .number(let value): number = value
        case .array, .object, .null:
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "an attribute is a text, a number, a Boolean, or a list of them"))
        }
    }

    /// JavaScript and others read larger ones as other numbers.
    fileprivate static let largestInteger = 0x1p53
}

/// Attributes in an answer.
struct AttributesAnswer: Encodable, Sendable {
    let texts: [String: String]
    /// Whether what is a number, a Boolean or a list in JSON's notation is one.
    var isTyped = false

    func encode(to encoder: any Encoder) throws {
        guard isTyped else { return try texts.encode(to: encoder) }
        var values = encoder.singleValueContainer()
        try values.encode(texts.mapValues(TypedText.init))
    }

    private struct TypedText: Encodable {
        let text: String

        init(_ text: String) { self.text = text }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            switch text {
            case "true", "false": try value.encode(text == "true")
            case let text where text.hasPrefix("["):
                guard let list = AttributeList.values(in: text) else { fallthrough }
                try value.encode(list)
            // RFC 8259, section 6.
            case let text where text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/) != nil:
                guard let number = Double(text), abs(number) <= AttributeValue.largestInteger else { fallthrough }
                if let integer = Int(text) { try value.encode(integer) } else { try value.encode(number) }
            default: try value.encode(text)
            }
        }
    }
}
#endif
