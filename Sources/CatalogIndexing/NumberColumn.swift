import CatalogEntities
import Foundation

/// What the numbers in a column of a table are, as people of one country write them: `1.234,50`, `1,234.50 $`,
/// `1 234,50`.
///
/// A text such as `1,234` may be two numbers. So the values of a column are read together: those that can be read in
/// one way alone decide about the others, then the other columns of the file, then what separates its fields.
struct NumberColumn {
    enum DecimalSign { case point, comma }

    /// How the values are read.
    enum Reading: Equatable {
        /// As they are: they are plain numbers, or texts.
        case plain
        case numbers(DecimalSign)
        /// Numbers that can be read in two ways.
        case unclear(String)
    }

    /// A value with its line.
    typealias Example = (line: Int, text: String)

    let name: String
    /// Values that can be read in one way alone.
    private var withPoint: Example?
    private var withComma: Example?
    /// Values that can be read in two ways, by the sign in them.
    private var unclearPoint: Example?
    private var unclearComma: Example?
    /// The first value that is to be written in another way.
    private var localized: Example?
    private var currencies: Set<String> = []
    private var numberCount = 0
    private var otherCount = 0

    init(name: String) { self.name = name }

    mutating func add(_ text: String, line: Int) {
        guard !text.allSatisfy(\.isWhitespace) else { return }
        let value = Value(text)
        guard value.withPoint != nil || value.withComma != nil else {
            otherCount += 1
            return
        }
        numberCount += 1
        let example = (line, text)
        if let currency = value.currency { currencies.insert(currency) }
        if FieldValue.number(text) == nil { localized = localized ?? example }
        if value.withPoint == value.withComma { return }
        if value.withPoint == nil { withComma = withComma ?? example }
        if value.withComma == nil { withPoint = withPoint ?? example }
        guard value.withPoint != nil, value.withComma != nil else { return }
        if text.contains(",") { unclearComma = unclearComma ?? example } else { unclearPoint = unclearPoint ?? example }
    }

    /// Whether most values are numbers.
    var isNumeric: Bool { numberCount > otherCount }

    /// The decimal sign that some values have for certain, and none has another; nil otherwise.
    var sign: DecimalSign? {
        guard isNumeric, (withPoint == nil) != (withComma == nil) else { return nil }
        return withPoint == nil ? .comma : .point
    }

    /// How the values are read, in a file with other columns and with a separator of fields.
    func reading(signs: Set<DecimalSign>, separator: Unicode.Scalar) -> Reading {
        guard isNumeric else { return .plain }
        if currencies.count > 1 {
            return .unclear("its amounts are in \(currencies.sorted().map { "“\($0)”" }.joined(separator: " and "))")
        }
        if let a = withPoint, let b = withComma {
            return .unclear("it has “\(a.text)” in line \(a.line) and “\(b.text)” in line \(b.line)")
        }
        // Degrees have no thousands.
        let ofDegrees: DecimalSign? =
            ["latitude", "longitude"].contains(name) ? (unclearComma == nil ? .point : .comma) : nil
        var sign = sign ?? ofDegrees ?? (signs.count == 1 ? signs.first : nil)
        if sign == nil, let example = unclearComma ?? unclearPoint {
            switch (separator, unclearComma, unclearPoint) {
            // Where the comma is the decimal sign, it does not separate fields.
            case (";", _?, nil): sign = .comma
            case (",", _?, nil), (",", nil, _?): sign = .point
            default:
                let value = Value(example.text)
                return .unclear(
                    "“\(example.text)” in line \(example.line) may be \(value.withPoint ?? "") or "
                        + (value.withComma ?? ""))
            }
        }
        if localized == nil, sign != .comma || unclearPoint == nil { return .plain }
        return .numbers(sign ?? .point)
    }

    /// A value as Swift writes numbers; nil if it is none.
    static func number(_ text: String, _ sign: DecimalSign) -> String? {
        // A number stays as it was written.
        if sign == .point, FieldValue.number(text) != nil { return text }
        let value = Value(text)
        return sign == .point ? value.withPoint : value.withComma
    }

    /// Whether a text is a number as people of some country write it, and not as catalogs compare it.
    static func isLocalized(_ text: String) -> Bool {
        guard text.utf8.count < 40, text.contains(where: \.isNumber), FieldValue.number(text) == nil else {
            return false
        }
        let value = Value(text)
        return value.withPoint != nil || value.withComma != nil
    }

    /// The numbers that a text may be, by the decimal sign; nil if it cannot be read so.
    private struct Value {
        var withPoint: String?
        var withComma: String?
        var currency: String?

        init(_ text: String) {
            // Spaces between thousands are of several kinds.
            let text = String(text.map { $0.isWhitespace ? " " : $0 }).trimmingCharacters(in: .whitespaces)
            if FieldValue.number(text) != nil, text.utf8.contains(where: { "eE".utf8.contains($0) }) {
                withPoint = text
                withComma = text.contains(".") ? nil : text
                return
            }
            let isOfNumber = { (character: Character) in character.isNumber || ".,".contains(character) }
            guard let start = text.firstIndex(where: isOfNumber), let end = text.lastIndex(where: isOfNumber) else {
                return
            }
            var around = [text[..<start], text[text.index(after: end)...]].map { $0.filter { !$0.isWhitespace } }
            let signs = around[0].filter { "+-\u{2212}".contains($0) }
            around[0].removeAll { "+-\u{2212}".contains($0) }
            let marks = around.filter { !$0.isEmpty }
            guard signs.count <= 1, marks.count <= 1, marks.allSatisfy(Self.isCurrency) else { return }
            let minus = signs.isEmpty || signs == "+" ? "" : "-"
            currency = marks.first
            withPoint = Self.number(text[start...end], decimal: ".").map { minus + $0 }
            withComma = Self.number(text[start...end], decimal: ",").map { minus + $0 }
        }

        private static func isCurrency(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { $0.properties.generalCategory == .currencySymbol }
                || text.utf8.count == 3 && Locale.commonISOCurrencyCodes.contains(text)
        }

        /// The number that a text without sign is with a decimal sign, and possibly with another one between
        /// thousands.
        private static func number(_ text: Substring, decimal: Character) -> String? {
            func isDigits(_ text: Substring) -> Bool { text.utf8.allSatisfy { (0x30...0x39).contains($0) } }
            let parts = text.split(separator: decimal, omittingEmptySubsequences: false)
            guard parts.count <= 2, let whole = parts.first else { return nil }
            var fraction = ""
            if parts.count == 2 {
                guard !parts[1].isEmpty, isDigits(parts[1]) else { return nil }
                fraction = "." + parts[1]
            }
            if isDigits(whole) { return (whole.isEmpty ? "0" : whole) + fraction }
            guard let separator = whole.first(where: { !$0.isNumber }), separator != decimal,
                ".,'\u{2019} ".contains(separator)
            else { return nil }
            let groups = whole.split(separator: separator, omittingEmptySubsequences: false)
            // India writes 12,34,567.
            let isGrouped =
                groups.dropFirst().allSatisfy { $0.count == 3 }
                || groups.dropFirst().dropLast().allSatisfy { $0.count == 2 } && groups[0].count <= 2
            guard isGrouped, groups.last?.count == 3, groups.allSatisfy(isDigits), (1...3).contains(groups[0].count),
                groups[0].first != "0"
            else { return nil }
            return groups.joined() + fraction
        }
    }
}
