public import Compute
import Foundation

/// A condition as text, for command lines, requests and storage.
///
///     type = album and price < 20
///     artist in ("Delta Wren", "Low Lanterns") or not exists year
///     released in 1969-01-01..1969-12-31
///     title starts with "Slow" and subtitle contains "live" and label != sold
///     within 5 km of (48.2082, 16.3738)
///     has code 978-3-16-148410-0
///
/// `and` binds more tightly than `or`, `not` more tightly than both; parentheses group, and `all (…)` and `any (…)`
/// hold one condition. A comparison is a field, an operator and a value: `=`, `!=` and `in (…)`, a list of values,
/// compare text. A number or a date without quotes is also compared by what it means: `price = 9.9` finds 9.90, and
/// `taken = 2024-05-01` all times of that day; `"9.9"` and `007` are text alone. `<`, `<=`, `>`, `>=` and `in a..b`
/// compare numbers or dates, whole numbers of 64 bits exactly; `is number` and `is date` say that the field is one.
/// `within` takes kilometers (`km`) or meters (`m`) around a latitude and a longitude in degrees, and compares the
/// attributes `latitude` and `longitude`, or those that follow: `by (lat, lon)`. `has code` finds product codes in
/// whatever form (``ProductCode``), and takes one or a list: `in (…)`. Fields and values with spaces, commas,
/// parentheses or operators stand in double or single quotes, where a backslash takes the next character as it is, and
/// two quotes are one.
extension Condition: LosslessStringConvertible {
    /// Why a text is no condition.
    public struct SyntaxError: DescribedError, Equatable {
        /// The text.
        public let subject: String
        /// What is wrong with it.
        public let reason: String

        public var description: String { "“\(subject)” is not a condition: \(reason)" }
    }

    /// The condition that a text states; an empty text is satisfied by every entity.
    ///
    /// - Throws: ``SyntaxError``, which names what was expected and what was found.
    public init(parsing text: String) throws(SyntaxError) {
        var parser = ConditionParser(text)
        self = try parser.condition()
    }

    /// The condition that a text states; nil for a text that is none.
    public init?(_ text: String) {
        guard let condition = try? Condition(parsing: text) else { return nil }
        self = condition
    }

    public var description: String {
        switch form {
        case .isAnyOf(let field, let values) where values.count == 1:
            "\(Self.quoted(field)) = \(Self.asText(values[0]))"
        case .isAnyOf(let field, let values):
            "\(Self.quoted(field)) in (\(values.map(Self.asText).joined(separator: ", ")))"
        case .number(let field, let range): Self.comparison(field, range, "number") { "\($0)" }
        case .whole(let field, let range): Self.comparison(field, range, "number") { "\($0)" }
        // Without quotes a year alone would be a number, too.
        case .date(let field, let range): Self.comparison(field, range, "date", Self.inQuotes)
        case .hasPrefix(let field, let prefix): "\(Self.quoted(field)) starts with \(Self.quoted(prefix))"
        case .contains(let field, let part): "\(Self.quoted(field)) contains \(Self.quoted(part))"
        case .within(let kilometers, let point, let latitude, let longitude):
            "within \(kilometers) km of (\(point.latitude), \(point.longitude))"
                + ((latitude, longitude) == (.attribute("latitude"), .attribute("longitude"))
                    ? "" : " by (\(Self.quoted(latitude)), \(Self.quoted(longitude)))")
        case .exists(let field): "exists \(Self.quoted(field))"
        case .hasCode(let codes): "has code in (\(codes.map(Self.quoted).joined(separator: ", ")))"
        case .not(let condition): "not \(condition.grouped)"
        case .all(let parts) where parts.count == 1: "all (\(parts[0].grouped))"
        case .any(let parts) where parts.count == 1: "any (\(parts[0].grouped))"
        case .all(let parts): parts.map(\.grouped).joined(separator: " and ")
        case .any(let parts): parts.isEmpty ? "nothing" : parts.map(\.grouped).joined(separator: " or ")
        }
    }

    private var grouped: String { self == .everything ? "everything" : "(\(description))" }

    private static func quoted(_ field: EntityField) -> String { quoted(field.description) }

    private static func quoted(_ text: String) -> String {
        let isWord = !text.isEmpty && text.first != "'" && text.unicodeScalars.allSatisfy(ConditionParser.isOfWord)
        if isWord, !ConditionParser.keywords.contains(text.lowercased()), !text.contains("..") { return text }
        return inQuotes(text)
    }

    /// A value that is compared as text alone.
    private static func asText(_ value: String) -> String {
        ConditionParser.isNumberOrDate(value) ? inQuotes(value) : quoted(value)
    }

    private static func inQuotes(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static func comparison<Value>(
        _ field: EntityField, _ range: ValueRange<Value>, _ kind: String, _ text: (Value) -> String
    ) -> String {
        let field = quoted(field)
        switch (range.lower, range.upper) {
        case (let lower?, let upper?):
            return "\(field) in \(text(lower.value))\(lower.isIncluded ? "" : "<")..\(upper.isIncluded ? "" : "<")"
                + text(upper.value)
        case (let lower?, nil): return "\(field) >\(lower.isIncluded ? "=" : "") \(text(lower.value))"
        case (nil, let upper?): return "\(field) <\(upper.isIncluded ? "=" : "") \(text(upper.value))"
        case (nil, nil): return "\(field) is \(kind)"
        }
    }
}

/// A condition is coded as its text. One that no text states, such as with a bound that is no date or a number, is not
/// encoded.
extension Condition: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            self = try Condition(parsing: container.decode(String.self))
        } catch let error as SyntaxError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        do {
            guard try Condition(parsing: description) == self else {
                throw SyntaxError(subject: description, reason: "it states another condition")
            }
        } catch let error as SyntaxError {
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: error.description))
        }
        try container.encode(description)
    }
}

/// Reads a condition by recursive descent.
private struct ConditionParser {
    static let keywords: Set = [
        "and", "or", "not", "in", "exists", "starts", "with", "everything", "nothing", "within", "has", "contains",
    ]
    /// Deeper groups are refused: the parser and SQLite recurse.
    private static let deepestNesting = 64

    private enum Token: Equatable {
        case word(String), quoted(String), symbol(String), end
    }

    private let text: String
    private var rest: Substring.UnicodeScalarView
    private var token = Token.end
    private var depth = 0

    init(_ text: String) {
        self.text = text
        rest = text[...].unicodeScalars
    }

    static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "_-.:+/@#%'&".unicodeScalars.contains(scalar)
    }

    mutating func condition() throws(Condition.SyntaxError) -> Condition {
        try advance()
        if token == .end { return .everything }
        let condition = try disjunction()
        guard token == .end else { throw unexpected("“and”, “or” or the end") }
        return condition
    }

    private mutating func disjunction() throws(Condition.SyntaxError) -> Condition {
        var parts = [try conjunction()]
        while try skip("or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(Condition.SyntaxError) -> Condition {
        var parts = [try term()]
        while try skip("and") { parts.append(try term()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func term() throws(Condition.SyntaxError) -> Condition {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepestNesting else {
            throw error("it is nested deeper than \(Self.deepestNesting) levels")
        }
        if try skip("not") { return .not(try term()) }
        for (word, list) in [("all", Condition.all), ("any", Condition.any)]
        where token == .word(word) && rest.first(where: { !$0.properties.isWhitespace }) == "(" {
            try advance()
            return list([try term()])
        }
        if try skip(symbol: "(") {
            let condition = try disjunction()
            guard try skip(symbol: ")") else { throw unexpected("“)”") }
            return condition
        }
        if try skip("everything") { return .everything }
        if try skip("nothing") { return .any([]) }
        if try skip("exists") { return .exists(try field()) }
        if try skip("within") { return try distance() }
        if try skip("has") {
            guard try skip("code") else { throw unexpected("“code”") }
            guard try skip("in") else { return .hasCode([try value()]) }
            guard try skip(symbol: "(") else { throw unexpected("“(” with a list of codes") }
            return .hasCode(try list().map(\.text))
        }
        return try comparison(of: try field())
    }

    /// Reads `5 km of (48.2, 16.37)`, and possibly `by (lat, lon)`.
    private mutating func distance() throws(Condition.SyntaxError) -> Condition {
        var kilometers = try number("a distance such as 5 km", in: 0...Double.infinity)
        if try skip("m") {
            kilometers /= 1000
        } else {
            guard try skip("km") else { throw unexpected("“km” or “m”") }
        }
        guard try skip("of") else { throw unexpected("“of”") }
        guard try skip(symbol: "(") else { throw unexpected("“(” with a latitude and a longitude") }
        let latitude = try number("a latitude in -90…90", in: -90...90)
        guard try skip(symbol: ",") else { throw unexpected("“,”") }
        let point = GeoPoint(latitude: latitude, longitude: try number("a longitude in -180…180", in: -180...180))
        guard try skip(symbol: ")") else { throw unexpected("“)”") }
        guard try skip("by") else { return .within(kilometers: kilometers, of: point) }
        guard try skip(symbol: "(") else { throw unexpected("“(” with the names of two fields") }
        let field = try field()
        guard try skip(symbol: ",") else { throw unexpected("“,”") }
        let other = try self.field()
        guard try skip(symbol: ")") else { throw unexpected("“)”") }
        return .within(kilometers: kilometers, of: point, latitude: field, longitude: other)
    }

    private mutating func number(
        _ expected: String, in range: ClosedRange<Double>
    ) throws(Condition.SyntaxError) -> Double {
        guard case .word(let word) = token, let value = Self.number(word), range.contains(value) else {
            throw unexpected(expected)
        }
        try advance()
        return value
    }

    /// A number of a condition; it may be infinite.
    private static func number(_ word: String) -> Double? {
        switch word {
        case "inf": .infinity
        case "-inf": -.infinity
        default: FieldValue.number(word)
        }
    }

    private mutating func comparison(of field: EntityField) throws(Condition.SyntaxError) -> Condition {
        if try skip("in") { return try skip(symbol: "(") ? try equality(field, try list()) : try range(of: field) }
        if try skip("starts") {
            guard try skip("with") else { throw unexpected("“with”") }
            return .hasPrefix(field, try value())
        }
        if try skip("contains") { return .contains(field, try value()) }
        if try skip("is") {
            if try skip("number") { return .number(field, ValueRange()) }
            guard try skip("date") else { throw unexpected("“number” or “date”") }
            return .date(field, ValueRange())
        }
        guard case .symbol(let symbol) = token, ["=", "!=", "<", "<=", ">", ">="].contains(symbol) else {
            throw unexpected("=, !=, <, <=, >, >=, “in”, “starts with” or “contains” after “\(field)”")
        }
        try advance()
        let value = try operand()
        switch symbol {
        case "=": return try equality(field, [value])
        case "!=": return .not(try equality(field, [value]))
        case "<": return try ordered(field, nil, (value, false))
        case "<=": return try ordered(field, nil, (value, true))
        case ">": return try ordered(field, (value, false), nil)
        default: return try ordered(field, (value, true), nil)
        }
    }

    private mutating func list() throws(Condition.SyntaxError) -> [Operand] {
        var values: [Operand] = []
        while try !skip(symbol: ")") {
            if !values.isEmpty, try !skip(symbol: ",") { throw unexpected("“,” or “)”") }
            values.append(try operand())
        }
        return values
    }

    /// The field is one of the values, as text or by what they mean.
    private func equality(_ field: EntityField, _ values: [Operand]) throws(Condition.SyntaxError) -> Condition {
        let texts = Condition.isAnyOf(field, values.map(\.text))
        guard case .attribute = field else { return texts }
        var parts = [texts]
        for value in values where !value.isQuoted && Self.isNumberOrDate(value.text) {
            parts.append(try ordered(field, (value, true), (value, true)))
            // JSON is stored with all of its digits, also where a `Double` has others.
            if !FieldValue.isRounded(value.text), let whole = Self.roundedWhole(value.text) {
                let end = ValueRange.End(whole, isIncluded: true)
                parts.append(Condition(.whole(field, ValueRange(from: end, to: end))))
            }
        }
        return parts.count == 1 ? texts : .any(parts)
    }

    /// Whether a value without quotes is compared by what it means. Digits after a zero, and more of them than a number
    /// holds, are a code.
    static func isNumberOrDate(_ text: String) -> Bool {
        guard let number = FieldValue.number(text) else { return DateSpan(text) != nil }
        let digits = text.utf8.drop { "+-".utf8.contains($0) }
        let isPadded =
            digits.first == UInt8(ascii: "0") && digits.dropFirst().first.map { (0x30...0x39).contains($0) } == true
        return !isPadded && (digits.count <= 15 || isExact(text, number) || roundedWhole(text) != nil)
    }

    /// Whether a text with a point is how a number is written, such as `0.30000000000000004`, and not one near to it.
    private static func isExact(_ text: String, _ number: Double) -> Bool {
        text.contains(".") && Decimal(string: text) == Decimal(string: "\(number)") && !FieldValue.isRounded(text)
    }

    /// The whole number of 64 bits that a text with a point is, such as `1.152921504606847e+18`, if a `Double` rounds
    /// it.
    private static func roundedWhole(_ text: String) -> Int64? {
        guard text.contains("."), let decimal = Decimal(string: text), let whole = Int64("\(decimal)")
        else { return nil }
        return Int64(exactly: Double(whole)) == whole ? nil : whole
    }

    /// Reads `a..b`; a `<` beside the dots leaves out that end.
    private mutating func range(of field: EntityField) throws(Condition.SyntaxError) -> Condition {
        let lower = try operand()
        let excludesLower = try skip(symbol: "<")
        guard try skip(symbol: "..") else { throw unexpected("a list in parentheses or a range such as 10..20") }
        let excludesUpper = try skip(symbol: "<")
        return try ordered(field, (lower, !excludesLower), (try operand(), !excludesUpper))
    }

    private func ordered(
        _ field: EntityField, _ lower: (Operand, Bool)?, _ upper: (Operand, Bool)?
    ) throws(Condition.SyntaxError) -> Condition {
        func range<Value>(_ value: (Operand) -> Value?) -> ValueRange<Value>? {
            func end(_ end: (Operand, Bool)) -> ValueRange<Value>.End? {
                value(end.0).map { .init($0, isIncluded: end.1) }
            }
            let ends = (lower.flatMap(end), upper.flatMap(end))
            guard (ends.0 == nil) == (lower == nil), (ends.1 == nil) == (upper == nil) else { return nil }
            return ValueRange(from: ends.0, to: ends.1)
        }
        let large = [lower, upper].compactMap { $0?.0 }.first { !$0.isQuoted && FieldValue.isRounded($0.text) }
        if let large {
            guard let whole = range({ $0.isQuoted ? nil : FieldValue.integer($0.text) }) else {
                throw error("“\(large.text)” is compared exactly with whole numbers of 64 bits alone")
            }
            return Condition(.whole(field, whole))
        }
        let numbers = range { $0.isQuoted ? nil : Self.number($0.text) }
        let dates = range { DateSpan($0.text) == nil ? nil : $0.text }
        switch (numbers, dates) {
        // A year alone is both.
        case (let numbers?, let dates?): return .any([.number(field, numbers), .date(field, dates)])
        case (let numbers?, nil): return .number(field, numbers)
        case (nil, let dates?): return .date(field, dates)
        case (nil, nil):
            let texts = [lower, upper].compactMap { $0.map { "“\($0.0.text)”" } }.joined(separator: " and ")
            throw error("expected numbers, or dates such as 1969-07-20, found \(texts)")
        }
    }

    private mutating func field() throws(Condition.SyntaxError) -> EntityField {
        switch token {
        case .word(let name) where !Self.keywords.contains(name.lowercased()), .quoted(let name):
            try advance()
            return EntityField(name)
        default: throw unexpected("the name of a field")
        }
    }

    private typealias Operand = (text: String, isQuoted: Bool)

    private mutating func operand() throws(Condition.SyntaxError) -> Operand {
        switch token {
        case .word(let value):
            try advance()
            return (value, false)
        case .quoted(let value):
            try advance()
            return (value, true)
        default: throw unexpected("a value")
        }
    }

    private mutating func value() throws(Condition.SyntaxError) -> String { try operand().text }

    private mutating func skip(_ keyword: String) throws(Condition.SyntaxError) -> Bool {
        guard case .word(let word) = token, word.lowercased() == keyword else { return false }
        try advance()
        return true
    }

    private mutating func skip(symbol: String) throws(Condition.SyntaxError) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func advance() throws(Condition.SyntaxError) {
        while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
        guard let first = rest.popFirst() else { return token = .end }
        switch first {
        case "\"", "'": token = .quoted(try quotedText(to: first))
        case "(", ")", ",", "=": token = .symbol(String(first))
        case "<", ">", "!":
            let isWithEquals = rest.first == "="
            if isWithEquals { rest.removeFirst() }
            token = .symbol(String(first) + (isWithEquals ? "=" : ""))
        case "." where rest.first == ".":
            rest.removeFirst()
            token = .symbol("..")
        case let scalar where Self.isOfWord(scalar):
            var word = String.UnicodeScalarView([first])
            while let next = rest.first, Self.isOfWord(next), !rest.starts(with: "..".unicodeScalars) {
                word.append(rest.removeFirst())
            }
            token = .word(String(word))
        default: throw error("“\(first)” has to stand in quotes")
        }
    }

    private mutating func quotedText(to quote: Unicode.Scalar) throws(Condition.SyntaxError) -> String {
        var quoted = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == quote {
                guard rest.first == quote else { return String(quoted) }
                quoted.append(rest.removeFirst())
                continue
            }
            if next == "\\", let escaped = rest.popFirst() { quoted.append(escaped) } else { quoted.append(next) }
        }
        throw error(
            quote == "'"
                ? "a single quote is not closed; double quotes may hold it" : "a double quote is not closed")
    }

    private func unexpected(_ expected: String) -> Condition.SyntaxError {
        switch token {
        case .word(let found), .symbol(let found): error("expected \(expected), found “\(found)”")
        case .quoted(let found): error("expected \(expected), found \"\(found)\"")
        case .end: error("expected \(expected), found the end")
        }
    }

    private func error(_ reason: String) -> Condition.SyntaxError {
        Condition.SyntaxError(subject: text, reason: reason)
    }
}
