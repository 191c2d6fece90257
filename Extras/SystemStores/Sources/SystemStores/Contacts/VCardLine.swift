#if SystemStores
import Foundation

/// A property of a card: one line of its file, unfolded (RFC 6350 section 3.3).
struct VCardLine {
    /// Where it begins, from 1.
    let number: Int
    /// The group that lines that belong together have before their names; empty for none.
    let group: String
    /// The name in uppercase.
    let name: String
    /// The values of each parameter, by its name in uppercase. A value without a name, as version 2.1 has them, is one
    /// of `TYPE` or of `ENCODING`.
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

/// A value of a card that cannot be read.
struct VCardValueProblem: Error {
    let reason: String
}

extension VCardLine {
    /// The value as text, with its escapes.
    func text() throws(VCardValueProblem) -> String {
        let bytes = try encoding == "QUOTED-PRINTABLE" ? quotedPrintable() : value
        let charset = parameter("CHARSET")?.lowercased() ?? "utf-8"
        let text: String?
        switch charset {
        case "utf-8", "utf8", "us-ascii", "ascii": text = String(validating: bytes, as: UTF8.self)
        case "iso-8859-1", "latin1": text = String(data: Data(bytes), encoding: .isoLatin1)
        case "iso-8859-2": text = String(data: Data(bytes), encoding: .isoLatin2)
        case "windows-1250": text = String(data: Data(bytes), encoding: .windowsCP1250)
        case "windows-1251": text = String(data: Data(bytes), encoding: .windowsCP1251)
        case "windows-1252": text = String(data: Data(bytes), encoding: .windowsCP1252)
        case "shift_jis": text = String(data: Data(bytes), encoding: .shiftJIS)
        case "euc-jp": text = String(data: Data(bytes), encoding: .japaneseEUC)
        default: throw VCardValueProblem(reason: "is in the unknown character set “\(charset)”")
        }
        guard let text else { throw VCardValueProblem(reason: "is not \(charset) text") }
        return text
    }

    /// The value without escapes.
    func plainText() throws(VCardValueProblem) -> String { VCardText.unescaped(try text()[...]) }

    /// The parts of a value with several, each a list: `family;given,second;…`.
    func components() throws(VCardValueProblem) -> [[String]] {
        VCardText.split(try text()[...], at: ";").map { part in
            VCardText.split(part, at: ",").map(VCardText.unescaped)
        }
    }

    /// The values of a list.
    func list() throws(VCardValueProblem) -> [String] {
        VCardText.split(try text()[...], at: ",").map(VCardText.unescaped).filter { !$0.isEmpty }
    }

    /// The bytes of a value in base64.
    func base64() throws(VCardValueProblem) -> Data {
        let digits = value.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard !digits.isEmpty, let data = Data(base64Encoded: Data(digits)) else {
            throw VCardValueProblem(reason: "is not base64")
        }
        return data
    }

    private func quotedPrintable() throws(VCardValueProblem) -> ArraySlice<UInt8> {
        func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) } }
        var bytes: [UInt8] = []
        var index = value.startIndex
        while index < value.endIndex {
            guard value[index] == UInt8(ascii: "=") else {
                bytes.append(value[index])
                index += 1
                continue
            }
            guard index + 2 < value.endIndex, let high = digit(value[index + 1]), let low = digit(value[index + 2])
            else { throw VCardValueProblem(reason: "is not quoted-printable") }
            bytes.append(high << 4 | low)
            index += 3
        }
        return bytes[...]
    }
}

enum VCardText {
    /// The parts between separators that are not escaped, escapes kept.
    static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var isEscaped = false
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == separator {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }

    static func unescaped(_ text: Substring) -> String {
        guard text.contains("\\") else { return String(text) }
        var plain = ""
        var characters = text.makeIterator()
        while let character = characters.next() {
            guard character == "\\" else {
                plain.append(character)
                continue
            }
            switch characters.next() {
            case "n", "N": plain += "\n"
            case let escaped? where ",;:\\".contains(escaped): plain.append(escaped)
            case let other: plain += "\\" + (other.map { String($0) } ?? "")
            }
        }
        return plain
    }
}

extension Contact.PartialDate {
    /// A date in basic or extended format, with or without its time, and with the truncations of RFC 6350 section
    /// 4.3.1: `19961022`, `1996-10-22`, `--1022`, `--10-22`, `1996-10`, `1996`, `--10`, `---22`.
    ///
    /// - Returns: nil if it is none of these or no day of the calendar.
    init?(vCard text: String) {
        let date = text.prefix { $0 != "T" && $0 != "t" }
        func number(_ digits: Substring, _ count: Int) -> Int? {
            digits.count == count && digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int(digits) : nil
        }
        if date.hasPrefix("---") {
            guard let day = number(date.dropFirst(3), 2) else { return nil }
            self.init(day: day)
        } else if date.hasPrefix("--") {
            let rest = date.dropFirst(2)
            guard let month = number(rest.prefix(2), 2) else { return nil }
            let after = rest.dropFirst(2)
            self.init(month: month)
            if !after.isEmpty {
                guard let day = number(after.hasPrefix("-") ? after.dropFirst() : after, 2) else { return nil }
                self.day = day
            }
        } else {
            guard let year = number(date.prefix(4), 4), year > 0 else { return nil }
            self.init(year: year)
            let rest = date.dropFirst(4)
            if rest.hasPrefix("-") {
                let parts = rest.dropFirst().split(separator: "-", omittingEmptySubsequences: false)
                guard parts.count <= 2, let month = number(parts[0], 2) else { return nil }
                self.month = month
                if parts.count == 2 {
                    guard let day = number(parts[1], 2) else { return nil }
                    self.day = day
                }
            } else if !rest.isEmpty {
                guard rest.count == 4, let month = number(rest.prefix(2), 2), let day = number(rest.suffix(2), 2)
                else { return nil }
                (self.month, self.day) = (month, day)
            }
        }
        guard isInCalendar else { return nil }
    }

    private var isInCalendar: Bool {
        guard (1...12).contains(month ?? 1), (1...31).contains(day ?? 1) else { return false }
        guard let month, let day else { return true }
        // Without a year the 29th of February exists.
        let isLeap = year.map { $0 % 4 == 0 && $0 % 100 != 0 || $0 % 400 == 0 } ?? true
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return day <= days[month - 1]
    }
}
#endif
