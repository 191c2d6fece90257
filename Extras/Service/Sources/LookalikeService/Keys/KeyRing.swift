import Digests
import Foundation

/// The keys that the service accepts.
public struct KeyRing: Sendable {
    /// The keys; none if everybody may do everything.
    public let keys: [APIKey]

    /// A ring of keys.
    public init(_ keys: [APIKey] = []) { self.keys = keys }

    /// Reads a key file: a line per key with its scope, the SHA-256 of the key in hexadecimal, and a name. Empty lines
    /// and lines that start with `#` are skipped; a semicolon separates as a line break does.
    ///
    /// - Throws: ``APIKeyError``.
    public init(text: String) throws(APIKeyError) {
        var keys: [APIKey] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline || $0 == ";" }
        for (index, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if !line.isEmpty, !line.hasPrefix("#") { keys.append(try APIKey(line: line, number: index + 1)) }
        }
        self.keys = keys
    }

    /// Whether requests need no key.
    public var isEmpty: Bool { keys.isEmpty }

    /// The entry of a key; nil for an unknown key. Takes as long for any key: all digests are compared, and each in
    /// constant time.
    func entry(for key: String) -> APIKey? {
        let digest = SHA256.hash(Data(key.utf8))
        var found: APIKey?
        for entry in keys where SHA256.areEqual(entry.digest, digest) { found = entry }
        return found
    }
}
