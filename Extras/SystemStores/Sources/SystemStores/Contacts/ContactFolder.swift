import Foundation

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

    /// All contacts by name. Of cards with the same UID the one that was revised last is taken, and the others are
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
                            origin: left.file,
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
