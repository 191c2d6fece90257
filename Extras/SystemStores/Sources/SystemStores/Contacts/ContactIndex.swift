/// Contacts that are looked up by their names.
public struct ContactIndex: Sendable {
    private struct Entry {
        let contact: Contact
        /// Folded words of the displayed name.
        let name: [String]
        /// Folded words of all names.
        let words: [String]
    }

    private let entries: [Entry]

    public init(_ contacts: [Contact]) {
        entries = contacts.map { contact in
            let names = [
                contact.name, contact.givenName, contact.additionalNames, contact.familyName,
                contact.organization ?? "",
            ]
            return Entry(
                contact: contact, name: Self.words(contact.name),
                words: (names + contact.nicknames).flatMap(Self.words))
        }
    }

    public var contacts: [Contact] { entries.map(\.contact) }

    /// The contacts that have all words of a text in their names, in any order and without regard to case and
    /// diacritics: first those whose name it is, then those that have the words whole, then those with words that begin
    /// so. None for a text without words. O(contacts · words).
    public func contacts(named text: String, limit: Int = 20) -> [Contact] {
        let wanted = Self.words(text)
        guard !wanted.isEmpty else { return [] }
        let found = entries.enumerated().compactMap { index, entry -> (rank: Int, index: Int)? in
            guard wanted.allSatisfy({ word in entry.words.contains { $0.hasPrefix(word) } }) else { return nil }
            if entry.name.sorted() == wanted.sorted() { return (0, index) }
            return (wanted.allSatisfy(entry.words.contains) ? 1 : 2, index)
        }
        return found.sorted { $0 < $1 }.prefix(max(0, limit)).map { entries[$0.index].contact }
    }

    /// The contacts whose whole name, or nickname, a text has, in the index's order.
    public func contacts(mentionedIn text: String) -> [Contact] {
        contacts.filter { !NameMatcher([$0.name] + $0.nicknames).names(in: text).isEmpty }
    }

    private static func words(_ text: String) -> [String] {
        NameMatcher.words(NameMatcher.folded(text)).map(String.init)
    }
}
