extension NetworkGraph {
    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Throws if an object has keys other than those that this program reads.
    static func refuseOthers(than known: Set<String>, in decoder: any Decoder, of what: String) throws {
        let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.filter { !known.contains($0.stringValue) }
            .sorted { $0.stringValue < $1.stringValue }
        guard let first = unknown.first else { return }
        let names = unknown.map { "“\($0.stringValue)”" }.joined(separator: ", ")
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: decoder.codingPath + [first],
                debugDescription: "\(what) has \(names), which this program does not know; "
                    + "it reads \(known.sorted().joined(separator: ", "))"))
    }
}
