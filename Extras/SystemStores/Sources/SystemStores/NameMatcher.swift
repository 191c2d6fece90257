#if SystemStores
import Foundation

/// Finds names in text: without regard to case and diacritics, and as whole words, so that an artist
/// called Ash is not found in Washington.
public struct NameMatcher: Sendable {
    private let names: [(name: String, words: [Substring])]

    public init(_ names: some Sequence<String>) {
        self.names = names.map { ($0, Self.words(Self.folded($0)).map { Substring($0) }) }.filter { !$0.1.isEmpty }
    }

    /// The names that the text has, in the matcher's order. O(names · words of the text).
    public func names(in text: String) -> [String] {
        let words = Self.words(Self.folded(text))
        return names.filter { name in
            guard name.words.count <= words.count else { return false }
            return (0...(words.count - name.words.count)).contains { start in
                words[start..<(start + name.words.count)].elementsEqual(name.words)
            }
        }.map(\.name)
    }

    static func folded(_ text: String) -> String {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }

    /// Letters and digits between anything else; an apostrophe belongs to its word.
    static func words(_ text: String) -> [Substring] {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "'" && $0 != "’" }
    }
}
#endif
