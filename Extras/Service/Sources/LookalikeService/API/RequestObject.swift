/// Any key of a JSON object.
struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// - Throws: `DecodingError` for a key that the object should not have, which was mistyped.
    func checkKeys<Key: CodingKey & CaseIterable>(_ known: Key.Type) throws {
        let container = try container(keyedBy: AnyKey.self)
        let names = Set(Key.allCases.map(\.stringValue))
        for key in container.allKeys where !names.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "the unknown key “\(key.stringValue.prefix(64))”"))
        }
    }
}
