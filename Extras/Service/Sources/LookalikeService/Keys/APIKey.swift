#if Service
import Digests
import Foundation
public import Lookalike
import Synchronization

/// What a key allows.
public enum APIKeyScope: String, Sendable, Comparable, CaseIterable {
    /// Searches, and reads of catalogs and metrics.
    case read
    /// Everything that ``read`` allows, and changes of catalogs.
    case write

    public static func < (a: Self, b: Self) -> Bool { a == .read && b == .write }
}

/// A key that the service accepts, by its hash.
public struct APIKey: Sendable {
    /// What the key allows.
    public let scope: APIKeyScope
    /// What logs call the key.
    public let name: String
    /// SHA-256 of the key, 32 bytes.
    let digest: Data

    /// Makes a key. The key itself is not kept.
    ///
    /// - Returns: the key, 43 characters with 256 random bits, and its entry.
    public static func make(scope: APIKeyScope, name: String) -> (key: String, entry: APIKey) {
        var random = SystemRandomNumberGenerator()
        let bytes = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
        let key = bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        return (key, APIKey(scope: scope, name: name, digest: SHA256.hash(Data(key.utf8))))
    }

    init(scope: APIKeyScope, name: String, digest: Data) {
        self.scope = scope
        self.name = name
        self.digest = digest
    }

    /// An entry as a line of a key file: `read 5e88…d8 shop`.
    public var line: String { "\(scope.rawValue) \(digest.hexadecimal) \(name)" }

    /// Reads a line of a key file.
    ///
    /// - Throws: ``APIKeyError``.
    init(line: some StringProtocol, number: Int) throws(APIKeyError) {
        let fields = String(line).split(separator: Character(" "), maxSplits: 2).map { String($0) }
        guard fields.count >= 2 else { throw APIKeyError(line: number, reason: "is not “SCOPE SHA256 NAME”") }
        guard let scope = APIKeyScope(rawValue: fields[0]) else {
            throw APIKeyError(line: number, reason: "has the scope “\(fields[0])”, not “read” or “write”")
        }
        let digits = Array(fields[1].utf8)
        let digest = stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16)
        }
        guard digits.count == 64, digest.count == 32 else {
            throw APIKeyError(line: number, reason: "has no SHA-256 of 64 hexadecimal digits")
        }
        self.init(scope: scope, name: fields.count > 2 ? fields[2] : "key-\(number)", digest: Data(digest))
    }
}

/// A line of a key file that cannot be read.
public struct APIKeyError: DescribedError, Equatable {
    /// The line, by its number.
    public let subject: String
    /// What is wrong with the line. The line itself may be a key that was put there by mistake, and is not repeated.
    public let reason: String

    /// - Parameter line: counted from 1.
    init(line: Int, reason: String) {
        subject = "line \(line) of the API keys"
        self.reason = reason
    }

    public var description: String { "\(subject): \(reason)" }
}

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

    /// The entry of a key; nil for an unknown key. The search takes as long for any key: it compares all digests, each
    /// in constant time.
    func entry(for key: String) -> APIKey? {
        let digest = SHA256.hash(Data(key.utf8))
        var found: APIKey?
        for entry in keys where SHA256.areEqual(entry.digest, digest) { found = entry }
        return found
    }
}

/// The keys that a running service accepts.
final class KeyStore: Sendable {
    private let ring: Mutex<KeyRing>

    init(_ ring: KeyRing) { self.ring = Mutex(ring) }

    var current: KeyRing { ring.withLock { $0 } }

    func replace(by new: KeyRing) { ring.withLock { $0 = new } }
}

extension Data {
    /// Two lowercase digits for each byte.
    var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
#endif
