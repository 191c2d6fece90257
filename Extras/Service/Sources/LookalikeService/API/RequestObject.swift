import Foundation

/// A JSON object of a request. A key that it does not have was mistyped, and is an error.
protocol RequestObject: Decodable {
    associatedtype CodingKeys: CodingKey, CaseIterable
}

extension RequestObject {
    /// - Throws: `DecodingError`.
    init(json data: Data) throws { self = try JSONDecoder().decode(KnownKeys<Self>.self, from: data).object }
}

private struct KnownKeys<Object: RequestObject>: Decodable {
    let object: Object

    init(from decoder: any Decoder) throws {
        let names = Set(Object.CodingKeys.allCases.map(\.stringValue))
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !names.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "the unknown key “\(key.stringValue.prefix(64))”"))
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
