import Foundation

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
