#if SystemStores
public import Foundation

/// Contacts as a folder of vCards, as vdirsyncer and the exports of address books keep them: `.vcf` files, in the
/// folder and its subfolders, with one or more cards each. Versions 4.0 (RFC 6350), 3.0 (RFC 2426) and 2.1.
///
/// The parser is this package's own. What Debian 12 has for it does not fit: its libical is of a version without a
/// parser for versions 3.0 and 4.0, libebook-contacts comes with more than a hundred packages of a desktop, and
/// libbelcard is C++ under the GPL. The format is lines with parameters; most of the work is to say what is wrong with
/// which line.
///
/// ```swift
/// let folder = ContactFolder(URL(fileURLWithPath: "contacts"))
/// let contacts = ContactIndex(try await folder.contacts().items)
/// for contact in contacts.contacts(named: "ada") { print(contact.name, contact.emails.map(\.value)) }
/// for await _ in try folder.changes() { … }  // read again
/// ```
public struct ContactFolder: SystemStore {
    public typealias Item = Contact

    public let url: URL

    private var folder: StoreFolder {
        StoreFolder(url: url, pathExtensions: ["vcf", "vcard"], largestFile: 128 << 20)
    }

    public init(_ url: URL) { self.url = url }

    /// All contacts by name. Among cards with the same UID the one that was revised last is taken, and the others are
    /// reported.
    ///
    /// A card that cannot be read is reported and the rest goes on. A property that cannot be read is reported, and its
    /// card is read without it.
    /// - Throws: ``StoreProblem`` when the folder cannot be read, and `CancellationError`.
    public func contacts() async throws -> StoreContents<Contact> {
        var byID: [String: Contact] = [:]
        var problems: [StoreProblem] = []
        for file in try folder.files() {
            try Task.checkCancellation()
            do throws(StoreProblem) {
                var cards = VCardFile(try folder.data(of: file), path: file.path)
                let read = cards.contacts()
                problems += read.problems
                for contact in read.items {
                    guard let other = byID[contact.id] else {
                        byID[contact.id] = contact
                        continue
                    }
                    let isNewer = (contact.revised ?? .distantPast) > (other.revised ?? .distantPast)
                    byID[contact.id] = isNewer ? contact : other
                    let (left, taken) = isNewer ? (other, contact) : (contact, other)
                    let (leftName, takenName) = (FileProblems.shortened(left.name), FileProblems.shortened(taken.name))
                    problems.append(
                        StoreProblem(
                            subject: left.file,
                            reason:
                                "“\(leftName)” has the same UID as “\(takenName)” in \(taken.file), which is taken"))
                }
            } catch {
                problems.append(error)
            }
        }
        let contacts = byID.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        return StoreContents(items: contacts, problems: problems)
    }

    public func changes() throws -> AsyncStream<Void> { try FolderChanges.stream(of: url) }
}

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
#endif
