import Foundation

/// A property of a card: one line of its file, unfolded (RFC 6350 section 3.3).
struct VCardLine {
    /// The line of the file where it begins, from 1.
    let number: Int
    /// The prefix of lines that belong together; empty for none.
    let group: String
    /// The name in uppercase.
    let name: String
    /// The values of parameters by name in uppercase. A value without a name, as in version 2.1, is one of `TYPE` or of
    /// `ENCODING`.
    let parameters: [String: [String]]
    let value: ArraySlice<UInt8>

    /// The most bytes before the value.
    private static let longestHead = 64 << 10

    /// - Returns: nil if the line is not a property.
    init?(_ line: ArraySlice<UInt8>, number: Int) {
        guard let colon = Self.end(of: line.prefix(Self.longestHead), at: UInt8(ascii: ":")) else { return nil }
        let parts = Self.parts(of: line[..<colon], at: UInt8(ascii: ";"))
        var name = parts[0]
        if let dot = name.lastIndex(of: UInt8(ascii: ".")) {
            group = String(decoding: name[..<dot], as: UTF8.self).lowercased()
            name = name[(dot + 1)...]
        } else {
            group = ""
        }
        guard !name.isEmpty, name.allSatisfy({ Self.isName($0) }) else { return nil }
        self.name = String(decoding: name, as: UTF8.self).uppercased()
        self.number = number
        var parameters: [String: [String]] = [:]
        for part in parts.dropFirst() {
            if let equals = part.firstIndex(of: UInt8(ascii: "=")) {
                let key = String(decoding: part[..<equals], as: UTF8.self).uppercased()
                parameters[key, default: []] += Self.parts(of: part[(equals + 1)...], at: UInt8(ascii: ","))
                    .map(Self.parameterValue)
            } else if !part.isEmpty {
                let text = String(decoding: part, as: UTF8.self)
                let isEncoding = ["BASE64", "QUOTED-PRINTABLE", "8BIT", "7BIT"].contains(text.uppercased())
                parameters[isEncoding ? "ENCODING" : "TYPE", default: []].append(text)
            }
        }
        self.parameters = parameters
        value = line[(colon + 1)...]
    }

    func parameter(_ name: String) -> String? { parameters[name]?.first }

    var encoding: String? { parameter("ENCODING")?.uppercased() }

    /// The types in lowercase; `pref` is none of them, but a rank.
    var types: [String] {
        // A list may be quoted as one value.
        (parameters["TYPE"] ?? []).flatMap { $0.lowercased().split(separator: ",").map(String.init) }
            .filter { $0 != "pref" }
    }

    /// 1 for the most preferred, up to 100; nil without a preference.
    var preference: Int? {
        if let rank = parameter("PREF") { return Int(rank).map { min(max($0, 1), 100) } ?? 100 }
        return (parameters["TYPE"] ?? []).contains { $0.lowercased().split(separator: ",").contains("pref") } ? 1 : nil
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The first separator outside of quotation marks.
    private static func end(of bytes: ArraySlice<UInt8>, at separator: UInt8) -> Int? {
        var isQuoted = false
        for (index, byte) in zip(bytes.indices, bytes) {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == separator, !isQuoted { return index }
        }
        return nil
    }

    private static func parts(of bytes: ArraySlice<UInt8>, at separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var rest = bytes
        while let end = end(of: rest, at: separator) {
            parts.append(rest[..<end])
            rest = rest[(end + 1)...]
        }
        return parts + [rest]
    }

    /// Without quotation marks, and with the escapes of RFC 6868.
    private static func parameterValue(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes.filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        guard text.contains("^") else { return text }
        var decoded = ""
        var characters = text.makeIterator()
        while let character = characters.next() {
            guard character == "^" else {
                decoded.append(character)
                continue
            }
            switch characters.next() {
            case "n": decoded += "\n"
            case "'": decoded += "\""
            case "^": decoded += "^"
            case let other: decoded += "^" + (other.map { String($0) } ?? "")
            }
        }
        return decoded
    }
}

/// The lines of a file of cards, unfolded.
struct VCardLines: Sequence, IteratorProtocol {
    /// Longer lines are no property of anybody's card.
    static let longestLine = 16 << 20

    enum Element {
        case property(VCardLine)
        case problem(String)
    }

    private let bytes: [UInt8]
    private var position = 0
    private var number = 0

    init(_ data: Data) {
        bytes = [UInt8](data)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func next() -> Element? {
        while let first = physicalLine() {
            let start = number
            guard !first.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else { continue }
            let isQuotedPrintable = Self.isQuotedPrintable(first)
            // Most lines have no continuation, and are not copied.
            var unfolded: [UInt8] = []
            var last = first.last
            var length = first.count
            while position < bytes.count {
                let endsSoftly = isQuotedPrintable && last == UInt8(ascii: "=")
                let isFolded = bytes[position] == UInt8(ascii: " ") || bytes[position] == UInt8(ascii: "\t")
                guard endsSoftly || isFolded, let more = physicalLine() else { break }
                if unfolded.isEmpty { unfolded.append(contentsOf: first) }
                // After a soft line break the next line goes on as it is.
                if endsSoftly { unfolded.removeLast() }
                let added = endsSoftly ? more : more.dropFirst()
                length += added.count
                if length <= Self.longestLine { unfolded.append(contentsOf: added) }
                last = added.last ?? (endsSoftly ? nil : last)
            }
            guard length <= Self.longestLine else {
                return .problem("line \(start) has \(length) bytes; the longest that is read has \(Self.longestLine)")
            }
            return VCardLine(unfolded.isEmpty ? first : unfolded[...], number: start).map { .property($0) }
                ?? .problem("line \(start) is not a property of a card")
        }
        return nil
    }

    private static func isQuotedPrintable(_ line: ArraySlice<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return String(decoding: line[..<colon], as: UTF8.self).uppercased().contains("QUOTED-PRINTABLE")
    }

    private mutating func physicalLine() -> ArraySlice<UInt8>? {
        guard position < bytes.count else { return nil }
        number += 1
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        var line = bytes[position..<end]
        position = end + 1
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }
}
