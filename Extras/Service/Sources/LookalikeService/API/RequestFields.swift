#if Service
import CatalogEntities
import Foundation
import Hummingbird
import Multipart

/// The named values in the query string or the form of a request.
struct RequestFields: Sendable {
    private var values: [String: [String]]
    private let source: String

    /// The fields of a query string, percent-decoded.
    init(query: String?) throws(Problem) {
        source = "The query string"
        var values: [String: [String]] = [:]
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : "") else {
                throw Problem(.invalidRequest, "The query string is not percent-encoded UTF-8.")
            }
            values[name, default: []].append(value)
        }
        self.values = values
    }

    /// The fields of a form that are no files.
    ///
    /// - Parameter files: names of parts that are read otherwise.
    init(_ form: MultipartForm, without files: Set<String>) throws(Problem) {
        source = "The form"
        var values: [String: [String]] = [:]
        for part in form.parts where !files.contains(part.name) {
            guard let text = part.text else {
                throw Problem(.invalidForm, "The field “\(part.name)” of the form is not UTF-8.")
            }
            values[part.name, default: []].append(text)
        }
        self.values = values
    }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }

    var names: [String] { values.keys.sorted() }

    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The values of a field that may come several times, or once with commas.
    func list(_ name: String) -> [String] { all(name).flatMap { $0.split(separator: ",").map(String.init) } }

    /// The value of a field that comes at most once.
    func one(_ name: String) throws(Problem) -> String? {
        let found = all(name)
        guard found.count <= 1 else { throw Problem(.invalidRequest, "\(source) has “\(name)” more than once.") }
        return found.first
    }

    func integer(_ name: String) throws(Problem) -> Int? {
        guard let text = try one(name) else { return nil }
        guard let value = Int(text) else { throw Problem(.invalidRequest, "“\(name)” is not a whole number.") }
        return value
    }

    func number(_ name: String) throws(Problem) -> Double? {
        guard let text = try one(name) else { return nil }
        guard let value = Double(text), !value.isNaN else {
            throw Problem(.invalidRequest, "“\(name)” is not a number.")
        }
        guard value.isFinite else { throw Problem(.invalidRequest, "“\(name)” is out of the range of doubles.") }
        return value
    }

    func flag(_ name: String) throws(Problem) -> Bool? {
        switch try one(name) {
        case nil: nil
        case "true": true
        case "false": false
        default: throw Problem(.invalidRequest, "“\(name)” is neither “true” nor “false”.")
        }
    }

    /// The fields but one.
    func without(_ name: String) -> RequestFields {
        var rest = self
        rest.values[name] = nil
        return rest
    }

    /// The fields whose names have a prefix, such as `attribute.year=1998`, under the rest of the name.
    func prefixed(_ prefix: String) -> [String: [String]] {
        var found: [String: [String]] = [:]
        for (name, values) in values where name.hasPrefix(prefix) {
            found[String(name.dropFirst(prefix.count))] = values
        }
        return found
    }

    /// Refuses mistyped names.
    ///
    /// - Throws: ``Problem`` for a field of another name.
    func check(_ known: Set<String>, prefixes: [String] = []) throws(Problem) {
        for name in names where !known.contains(name) && !prefixes.contains(where: name.hasPrefix) {
            let nearest = name.nearest(among: known.sorted()).suggestion
            throw Problem(
                .invalidRequest,
                "\(source) has the unknown field “\(name.prefix(64))”" + (nearest.isEmpty ? "." : nearest))
        }
    }
}

/// A JSON object of a request. A key that the type does not have was mistyped, and is an error.
protocol RequestObject: Decodable {
    associatedtype CodingKeys: CodingKey, CaseIterable
}

extension RequestObject {
    /// Decodes an object.
    ///
    /// - Throws: `DecodingError`, and ``Problem`` for a key that an object has twice, of which one value would be lost,
    ///   and for a number that does not fit its field.
    init(json data: Data) throws {
        let object: Self
        do {
            object = try JSONDecoder().decode(KnownKeys<Self>.self, from: data).object
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            // The decoder says that the text is not JSON of a number that does not fit, too, and not where it is.
            _ = try JSONDecoder().decode(JSONValue.self, from: data)
            throw Problem(.invalidJSON, "A number is not a whole number, or out of the range of its field.")
        }
        if let key = JSONShape(data).repeatedKey {
            throw Problem(.invalidJSON, "An object has the key “\(key.prefix(64))” twice.")
        }
        self = object
    }
}

private struct KnownKeys<Object: RequestObject>: Decodable {
    let object: Object

    init(from decoder: any Decoder) throws {
        let names = Set(Object.CodingKeys.allCases.map(\.stringValue))
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !names.contains(key.stringValue) {
            throw DecodingError.typeMismatch(
                Object.self,
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "the unknown key “\(key.stringValue.prefix(64))”"
                        + key.stringValue.nearest(among: names.sorted()).suggestion))
        }
        object = try Object(from: decoder)
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension HeaderValue {
    /// Whether a body of this media type is an image file. Its bytes say of which format.
    ///
    /// `application/x-www-form-urlencoded` is what curl and others send by default.
    var isOfImages: Bool {
        name.hasPrefix("image/") || name == "application/octet-stream" || name == "application/x-www-form-urlencoded"
    }
}
#endif
