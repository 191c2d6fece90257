/// A number that names a product or a book, as barcodes and catalogs write it (GS1 General Specifications, section 1;
/// ISO 2108).
package enum ProductCode {
    /// The attributes that catalogs keep such numbers in.
    package static let attributes = ["gtin", "ean", "upc", "isbn", "barcode"]

    /// How catalogs write what a code says: as it is; a GTIN with 8, 12, 13 or 14 digits, which name the same product
    /// with zeros in front; the ISBN of a book with 13 digits and, from before 2007, with 10.
    package static func spellings(of code: String) -> [String] {
        let digits = code.filter { $0 != "-" && $0 != " " }
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            [8, 12, 13, 14].contains(digits.count)
        else { return [code] }
        let short = digits.drop { $0 == "0" }
        var spellings = [8, 12, 13, 14].filter { $0 >= short.count }.map {
            String(repeating: "0", count: $0 - short.count) + short
        }
        if digits.count == 13, digits.hasPrefix("978") {
            let book = digits.dropFirst(3).dropLast()
            // The check digit makes the sum of the digits, times 10 to 1, a multiple of 11; X is ten.
            let sum = zip(book, stride(from: 10, through: 2, by: -1)).reduce(0) {
                $0 + ($1.0.wholeNumberValue ?? 0) * $1.1
            }
            let check = (11 - sum % 11) % 11
            spellings.append(book + (check == 10 ? "X" : String(check)))
        }
        return code == digits || spellings.contains(code) ? spellings : [code] + spellings
    }

    /// The numbers in a line of text that have a product's or a book's number of digits, and the right check digit.
    static func numbers(in line: some StringProtocol) -> [String] {
        line.split { !$0.isASCII || !($0.isNumber || "-  Xx".contains($0)) }.compactMap { run in
            let digits = String(run.filter { $0 != "-" && $0 != " " }).uppercased()
            let values = digits.map { $0.wholeNumberValue ?? 10 }
            guard values.dropLast().allSatisfy({ $0 < 10 }), let last = values.last else { return nil }
            if digits.count == 10 {
                return zip(values, stride(from: 10, through: 1, by: -1)).reduce(0) { $0 + $1.0 * $1.1 } % 11 == 0
                    ? digits : nil
            }
            guard [8, 12, 13, 14].contains(digits.count), last < 10 else { return nil }
            // From the right, digits count once and three times in turn.
            let sum = values.reversed().enumerated().reduce(0) { $0 + $1.element * ($1.offset % 2 == 0 ? 1 : 3) }
            return sum % 10 == 0 ? digits : nil
        }
    }

    /// The entities that have one of the codes.
    package static func condition(_ codes: [String]) -> Condition {
        let values = codes.flatMap(spellings)
        return .any(attributes.map { .isAnyOf(.attribute($0), values) })
    }
}
