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
    /// The catalogs that the key is for; nil for all.
    public let catalogs: Set<String>?
    /// Until when the key is accepted; nil for ever.
    public let expiry: Expiry?
    /// The requests that may be sent with the key a second; nil for as many as with others.
    public let rate: Double?
    /// SHA-256 of the key, 32 bytes.
    let digest: Data

    /// When a key ends: a day, of which all counts, or a time.
    public struct Expiry: Sendable, Equatable {
        /// The end in ISO 8601, such as `2027-01-31` or `2027-01-31T12:00:00Z`.
        public let text: String
        let date: Date

        /// Nil for text that is no day and no time with a zone.
        public init?(_ text: String) {
            self.text = text
            if text.utf8.count == 10, let day = try? Date("\(text)T00:00:00Z", strategy: .iso8601),
                // February has no 31st.
                Date.ISO8601FormatStyle().year().month().day().format(day) == text
            {
                date = day.addingTimeInterval(86_400)
            } else if text.contains("T"), let time = try? Date(text, strategy: .iso8601) {
                date = time
            } else {
                return nil
            }
        }
    }

    /// Makes a key. The key itself is not kept.
    ///
    /// - Parameters:
    ///   - catalogs: the names of the catalogs that the key is for; nil for all.
    ///   - expiry: until when it is accepted; nil for ever.
    ///   - rate: the requests that may be sent with it a second; nil for as many as with others.
    /// - Returns: the key, 43 characters with 256 random bits, and its entry.
    public static func make(
        scope: APIKeyScope, name: String, catalogs: Set<String>? = nil, expiry: Expiry? = nil, rate: Double? = nil
    ) -> (key: String, entry: APIKey) {
        var random = SystemRandomNumberGenerator()
        let bytes = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
        let key = bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        let digest = SHA256.hash(Data(key.utf8))
        return (
            key, APIKey(scope: scope, name: name, digest: digest, catalogs: catalogs, expiry: expiry, rate: rate)
        )
    }

    init(
        scope: APIKeyScope, name: String, digest: Data, catalogs: Set<String>?, expiry: Expiry?, rate: Double?
    ) {
        self.scope = scope
        self.name = name
        self.digest = digest
        self.catalogs = catalogs
        self.expiry = expiry
        self.rate = rate
    }

    /// An entry as a line of a key file: `read 5e88…d8 catalogs=covers expires=2027-01-31 shop`.
    public var line: String {
        let options = [
            catalogs.map { "catalogs=" + $0.sorted().joined(separator: ",") }, expiry.map { "expires=" + $0.text },
            rate.map { "rate=\($0)" },
        ]
        return ([scope.rawValue, digest.hexadecimal] + options.compactMap(\.self) + [name]).joined(separator: " ")
    }

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
        var rest = fields.count > 2 ? fields[2][...] : ""
        var options = Options()
        // Options come before the name.
        while let option = rest.prefixMatch(of: /([a-z]+)=([^ ]*) */) {
            try options.set(String(option.output.1), String(option.output.2), line: number)
            rest = rest[option.range.upperBound...]
        }
        self.init(
            scope: scope, name: rest.isEmpty ? "key-\(number)" : String(rest), digest: Data(digest),
            catalogs: options.catalogs, expiry: options.expiry, rate: options.rate)
    }

    private struct Options {
        var catalogs: Set<String>?
        var expiry: Expiry?
        var rate: Double?

        mutating func set(_ name: String, _ value: String, line: Int) throws(APIKeyError) {
            switch name {
            case "catalogs":
                let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                guard names.allSatisfy({ CatalogName($0) != nil }) else {
                    throw APIKeyError(line: line, reason: "has “catalogs” that are not names with commas in between")
                }
                catalogs = Set(names)
            case "expires":
                guard let date = Expiry(value) else {
                    throw APIKeyError(
                        line: line,
                        reason: "has an “expires” that is neither a day such as 2027-01-31 nor a time with its zone")
                }
                expiry = date
            case "rate":
                guard let number = Double(value), (0.001...1e6).contains(number) else {
                    throw APIKeyError(line: line, reason: "has a “rate” that is not between 0.001 and a million")
                }
                rate = number
            default:
                throw APIKeyError(
                    line: line, reason: "has the unknown option “\(name)”; there are catalogs, expires and rate")
            }
        }
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

    /// Reads a key file: a line per key with its scope, the SHA-256 of the key in hexadecimal, options such as
    /// `catalogs=a,b`, `expires=2027-01-31` and `rate=5`, and a name. Empty lines and lines that start with `#` are
    /// skipped; a semicolon separates as a line break does.
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
#endif
