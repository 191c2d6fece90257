import Foundation

/// A place in a ranking, from which it can be read on.
///
/// It says how good the last result was and which entity, not how many came before it. A page that
/// follows it therefore repeats nothing and skips nothing of what was there, also when entities were
/// added, changed or removed in between, and in another process.
public struct SearchCursor: Sendable, Hashable {
    /// Smaller comes first; what it measures is the ranking's own affair.
    package let badness: Double
    package let key: Int64

    package init(badness: Double, key: Int64) {
        self.badness = badness
        self.key = key
    }

    /// After a match of an image search.
    public init(after match: CatalogMatch) {
        self.init(badness: Double(match.squaredDistance), key: match.key)
    }
}

/// As text: to be kept, or passed on in a URL.
extension SearchCursor: LosslessStringConvertible, Codable {
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.allSatisfy(\.isHexDigit) }),
            let bits = UInt64(parts[0], radix: 16), let key = Int64(parts[1], radix: 16), key >= 0
        else { return nil }
        let badness = Double(bitPattern: bits)
        guard badness.isFinite else { return nil }
        self.init(badness: badness, key: key)
    }

    public var description: String { String(badness.bitPattern, radix: 16) + "-" + String(key, radix: 16) }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let cursor = SearchCursor(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is no place in a ranking")
        }
        self = cursor
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
