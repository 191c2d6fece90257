/// A place in a ranking, from which the next page is read.
///
/// It holds the sort key and the entity of the last result, not an offset. So the next page neither repeats nor skips
/// results, even if entities were added, changed or removed in between, and in another process.
public struct SearchCursor: Sendable, Hashable {
    /// Ascending; what it measures depends on the ranking.
    package let sortKey: Double
    package let key: Int64

    package init(sortKey: Double, key: Int64) {
        self.sortKey = sortKey
        self.key = key
    }
}

/// A cursor as text, for storage or a URL.
extension SearchCursor: LosslessStringConvertible, Codable {
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.allSatisfy(\.isHexDigit) }),
            let bits = UInt64(parts[0], radix: 16), let key = Int64(parts[1], radix: 16), key >= 0
        else { return nil }
        let sortKey = Double(bitPattern: bits)
        guard sortKey.isFinite else { return nil }
        self.init(sortKey: sortKey, key: key)
    }

    public var description: String { String(sortKey.bitPattern, radix: 16) + "-" + String(key, radix: 16) }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let cursor = SearchCursor(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is not a search cursor")
        }
        self = cursor
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
