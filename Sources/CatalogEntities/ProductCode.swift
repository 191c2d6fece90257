import Foundation
import Synchronization

/// A number that names a product or a book, in one form for all ways to write it.
///
/// These are one product: a GTIN with 8, 12, 13 or 14 digits, with leading zeros or as a spreadsheet left it without
/// them; a UPC-E and the number that it stands for; an ISBN with 10 and with 13 digits; each with spaces and hyphens;
/// a GS1 element string with the same number as `(01)`, in parentheses or as a scanner sends it; and a GS1 Digital
/// Link. A code with another check digit is no number: it is compared as the text that it is.
///
/// Rules: GS1 General Specifications, sections 1.3, 5 and 7.8; GS1 Digital Link 1.4; ISO 2108.
public struct ProductCode: Sendable, Hashable {
    /// 14 digits for a number of a product or a book; any other code is its text.
    public let canonical: String

    private init(_ canonical: String) { self.canonical = canonical }

    /// What a text may name: nothing if it is empty, and several products if it is a valid code by several rules, such
    /// as an EAN-8 that is a UPC-E as well.
    public static func readings(of text: String) -> [ProductCode] { readings(of: text, as: .any) }

    /// The name under which a catalog stores the codes of an entity, beside its fields.
    package static let storedName = "code"

    /// What the name of an attribute says about its codes.
    package enum Kind { case product, book, any }

    /// Whether an attribute has codes, and of which kind; nil for one that has none. Case, numbers and other words of
    /// the name do not matter: `EAN`, `isbn_13`, `upcCode`, `Bar Code 2`.
    package static func kind(ofAttribute name: String) -> Kind? {
        // Every attribute of every entity is asked, and catalogs have few names.
        if let known = kinds.withLock({ $0[name] }) { return known }
        let kind = kind(ofNewAttribute: name)
        kinds.withLock {
            if $0.count >= mostKinds { $0 = [:] }
            $0[name] = .some(kind)
        }
        return kind
    }

    private static let kinds = Mutex<[String: Kind?]>([:])
    private static let mostKinds = 10_000

    private static func kind(ofNewAttribute name: String) -> Kind? {
        var words = [""]
        var isAfterLowercase = false
        for character in name {
            if !character.isLetter || character.isUppercase && isAfterLowercase { words.append("") }
            if character.isLetter { words[words.count - 1] += character.lowercased() }
            isAfterLowercase = character.isLowercase
        }
        let names = words.compactMap { $0.wholeMatch(of: /(gtin|ean|upc|isbn)(s|a|e|codes?|no|nr|numbers?)?/)?.1 }
        if names.isEmpty { return words.joined().contains("barcode") ? .any : nil }
        let isOfBooks = names.map { $0 == "isbn" }
        return isOfBooks.contains(true) ? isOfBooks.contains(false) ? .any : .book : .product
    }

    /// The codes in the value of an attribute: one, or a list with commas, semicolons, bars, slashes or line ends. Of
    /// other texts than numbers, the whole value is a code as well.
    package static func codes(in value: String, as kind: Kind) -> [ProductCode] {
        let whole = numbers(of: value, as: kind)
        if !whole.isEmpty { return whole }
        let quotes = CharacterSet(charactersIn: "[]\"'").union(.whitespacesAndNewlines)
        var codes: [ProductCode] = []
        var hasTexts = false
        for part in value.split(whereSeparator: { ";,|".contains($0) || $0.isNewline }) {
            let part = part.trimmingCharacters(in: quotes)
            let whole = numbers(of: part, as: kind)
            let parts = part.split { $0 == "/" || $0.isWhitespace }.map { numbers(of: String($0), as: kind) }
            if whole.isEmpty, parts.count > 1, !parts.contains(where: \.isEmpty) {
                codes += parts.joined()
            } else {
                codes += readings(of: part, as: kind)
                hasTexts = hasTexts || whole.isEmpty
            }
        }
        return hasTexts ? codes + readings(of: value, as: kind) : codes
    }

    /// The numbers in a line of text that have a product's or a book's number of digits, and the right check digit,
    /// each with what it names.
    package static func numbers(in line: some StringProtocol) -> [(text: String, code: ProductCode)] {
        line.split { !$0.isASCII || !($0.isNumber || "-  Xx".contains($0)) }.flatMap { run in
            let digits = String(run.filter { $0 != "-" && $0 != " " }).uppercased()
            let code =
                switch digits.count {
                case 10: book(digits)
                case 8, 12, 13, 14: product(digits)
                default: ProductCode?.none
                }
            return code.map { [(digits, $0)] } ?? []
        }
    }

    private static func readings(of text: String, as kind: Kind) -> [ProductCode] {
        let numbers = numbers(of: text, as: kind)
        if !numbers.isEmpty { return numbers }
        let plain = plain(text)[0]
        let literal = isDigits(plain) ? plain : text.trimmingCharacters(in: .whitespacesAndNewlines)
        return literal.isEmpty ? [] : [ProductCode(literal)]
    }

    /// The products and books that a text names by a number with the right check digit; one unless it is ambiguous.
    private static func numbers(of text: String, as kind: Kind) -> [ProductCode] {
        if isDigits(text), text.utf8.count <= 14 { return numbers(ofPlain: text, as: kind) }
        if let code = linked(text) ?? element(text) { return [code] }
        // Libraries write “0306406152 (pbk.)”.
        let parts = [text] + (text.firstIndex(of: "(").map { [String(text[..<$0])] } ?? [])
        return parts.lazy.flatMap(plain).map { numbers(ofPlain: $0, as: kind) }.first { !$0.isEmpty } ?? []
    }

    private static func numbers(ofPlain code: String, as kind: Kind) -> [ProductCode] {
        let digits = code.hasSuffix("X") ? code.dropLast() : code[...]
        guard isDigits(digits), digits.contains(where: { $0 != "0" }) else { return [] }
        if [15, 18].contains(code.count), ["977", "978", "979"].contains(code.prefix(3)) {
            // Periodicals and books have a second, small barcode with an issue or a price beside the first one.
            return product(code.prefix(13)).map { [$0] } ?? []
        }
        let book = book(code)
        if let book, kind == .book { return [book] }
        let products = [product(code)].compactMap(\.self) + compressed(code)
        if !products.isEmpty, kind == .product { return products }
        return products + [book].compactMap(\.self)
    }

    // MARK: Numbers

    private static func isDigits(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func padded(_ digits: some StringProtocol, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// The digit after others that makes their sum a multiple of ten. From the right, they count three times and once
    /// in turn.
    private static func checkDigit(_ digits: some StringProtocol) -> Int {
        let sum = digits.utf8.reversed().enumerated().reduce(0) {
            $0 + Int($1.element & 15) * ($1.offset % 2 == 0 ? 3 : 1)
        }
        return (10 - sum % 10) % 10
    }

    /// A GTIN, possibly without its leading zeros.
    private static func product(_ code: some StringProtocol) -> ProductCode? {
        guard code.count <= 14, isDigits(code), code.last?.wholeNumberValue == checkDigit(code.dropLast()) else {
            return nil
        }
        return ProductCode(padded(code, 14))
    }

    /// A UPC-E: the number system, six digits and the check digit, or the six alone.
    private static func compressed(_ code: String) -> [ProductCode] {
        guard code.count <= 8, isDigits(code) else { return [] }
        func expanded(_ system: Character, _ six: some StringProtocol) -> String {
            let digits = six.map(String.init)
            func part(_ range: Range<Int>) -> String { digits[range].joined() }
            let body =
                switch digits[5] {
                case "0", "1", "2": part(0..<2) + digits[5] + "0000" + part(2..<5)
                case "3": part(0..<3) + "00000" + part(3..<5)
                case "4": part(0..<4) + "00000" + part(4..<5)
                default: part(0..<5) + "0000" + digits[5]
                }
            return String(system) + body
        }
        let eight = padded(code, 8)
        var codes: [ProductCode] = []
        if let system = eight.first, "01".contains(system), let check = eight.last {
            codes += [product(expanded(system, eight.dropFirst().prefix(6)) + String(check))].compactMap(\.self)
        }
        if code.count == 6 {
            let number = expanded("0", code)
            codes.append(ProductCode(padded(number + String(checkDigit(number)), 14)))
        }
        return codes
    }

    /// An ISBN with ten digits, possibly without its leading zeros.
    private static func book(_ code: String) -> ProductCode? {
        guard code.count <= 10, let last = code.last, isDigits(code.dropLast()) else { return nil }
        let digits = padded(code, 10).dropLast()
        // Digits count 10 times to twice, the check digit once; X is ten.
        let check = last == "X" ? 10 : last.wholeNumberValue ?? 1
        let sum = zip(digits.utf8, stride(from: 10, through: 2, by: -1)).reduce(check) {
            $0 + Int($1.0 & 15) * $1.1
        }
        guard sum % 11 == 0 else { return nil }
        return ProductCode("0978\(digits)\(checkDigit("978" + digits))")
    }

    // MARK: Ways to write them

    /// A code without what is around and between its digits: a name such as “ISBN-13:”, the mark of a symbology,
    /// spaces and hyphens of all kinds, and what spreadsheets keep texts with. After a name, the first digits may be a
    /// part of it.
    private static func plain(_ text: String) -> [String] {
        if isDigits(text) { return [text] }
        var scalars = String.UnicodeScalarView()
        for scalar in withoutSymbology(text).precomposedStringWithCompatibilityMapping.uppercased().unicodeScalars {
            let properties = scalar.properties
            if properties.isWhitespace || [.dashPunctuation, .format].contains(properties.generalCategory) { continue }
            if "\u{2212}'\"=".unicodeScalars.contains(scalar) { continue }
            if properties.numericType == .decimal, let value = properties.numericValue {
                scalars.append(contentsOf: String(Int(value)).unicodeScalars)
            } else {
                scalars.append(scalar)
            }
        }
        // Tables turn columns of numbers with an empty cell into fractions.
        func whole(_ code: Substring) -> String {
            let end = code.utf8.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") }
            guard let end, code[end...].dropFirst().allSatisfy({ $0 == "0" }), isDigits(code[..<end]) else {
                return String(code)
            }
            return String(code[..<end])
        }
        let code = String(scalars)
        guard code.utf8.first.map({ "EGIU".utf8.contains($0) }) == true,
            let name = code.prefixMatch(of: /(?:URN:)?(?:GTIN|EAN|UPC|ISBN)((?:8|10|12|13|14|A|E)?):?/)
        else {
            return [whole(code[...])]
        }
        let rest = code[name.range.upperBound...]
        let readings = name.1.isEmpty || rest.isEmpty ? [whole(rest)] : [whole(name.1 + rest), whole(rest)]
        return rest.count == Int(name.1) ? readings.reversed() : readings
    }

    /// A text without the three characters by which scanners tell the symbology (ISO/IEC 15424).
    private static func withoutSymbology(_ text: String) -> Substring {
        text.utf8.first == UInt8(ascii: "]") ? text.dropFirst(3) : text[...]
    }

    /// The code in a GS1 Digital Link.
    private static func linked(_ text: String) -> ProductCode? {
        guard text.utf8.contains(UInt8(ascii: "/")) else { return nil }
        let parts = withoutSymbology(text).prefix { $0 != "?" && $0 != "#" }.split(separator: "/")
        guard text.contains("://") || parts.first?.contains(".") == true else { return nil }
        return zip(parts, parts.dropFirst()).reversed().lazy.compactMap { key, value in
            (key == "01" || key.lowercased() == "gtin") && [8, 12, 13, 14].contains(value.count)
                ? product(value) : nil
        }.first
    }

    /// The number of characters of GS1's element strings with predefined lengths, by their first two digits (figure
    /// 7.8.5-2). Others end at the next FNC1.
    private static func predefinedLength(_ prefix: Int) -> Int? {
        switch prefix {
        case 0: 20
        case 1...3, 41: 16
        case 4: 18
        case 11...19: 8
        case 20: 4
        case 31...36: 10
        default: nil
        }
    }

    /// The code of a GS1 element string.
    private static func element(_ text: String) -> ProductCode? {
        guard text.utf8.count >= 12 else { return nil }
        if text.utf8.contains(UInt8(ascii: "(")) {
            let written = text.firstMatch(of: /\(\s*01\s*\)\s*([0-9](?:[ -]?[0-9]){7,13})(?![0-9])/)
            if let written { return product(written.1.filter(\.isNumber)) }
        }
        guard (16...4096).contains(text.utf8.count) else { return nil }
        // FNC1 as scanners send and programs show it.
        var marked = String(withoutSymbology(text))
        if marked.utf8.contains(where: { "<[{^\u{241D}".utf8.contains($0) }) {
            for mark in ["<GS>", "[GS]", "{GS}", "<FNC1>", "[FNC1]", "{FNC1}", "^]", "\u{241D}"] {
                marked = marked.replacing(mark, with: "\u{1D}")
            }
        }
        var rest = marked[...]
        while rest.count >= 16 {
            if rest.first == "\u{1D}" {
                rest.removeFirst()
                continue
            }
            guard isDigits(rest.prefix(2)), let prefix = Int(rest.prefix(2)) else { return nil }
            if prefix == 1 { return product(rest.dropFirst(2).prefix(14)) }
            rest = predefinedLength(prefix).map { rest.dropFirst($0) } ?? rest.drop { $0 != "\u{1D}" }
        }
        return nil
    }
}

extension CatalogEntity {
    /// The codes in the attributes that have such: those whose names say GTIN, EAN, UPC, ISBN or barcode.
    public var productCodes: [ProductCode] {
        let codes = attributes.flatMap { name, value in
            ProductCode.kind(ofAttribute: name).map { kind in
                AttributeList.texts(of: value).flatMap { ProductCode.codes(in: $0, as: kind) }
            } ?? []
        }
        return Set(codes).sorted { $0.canonical < $1.canonical }
    }
}
