import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// One code in all the ways in which catalogs, scanners and people write it.
struct ProductCodeFormTests {
    /// A product's number with 14 digits, and texts that name it.
    struct Code {
        let number: String
        let forms: [String]
    }

    enum Rule: CaseIterable { case gtin14, gtin13, gtin12, gtin8, upcE, isbn10, isbn979 }

    /// The last digit of a number of 14, by the weights of its places from the left.
    private static func number(_ body: String) -> String {
        let body = String(repeating: "0", count: 13 - body.count) + body
        let sum = zip(body, [3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]).map { Int(String($0))! * $1 }.reduce(0, +)
        return body + String(sum % 10 == 0 ? 0 : 10 - sum % 10)
    }

    private static func digits(_ count: Int, _ random: inout SeededGenerator) -> String {
        (0..<count).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
    }

    /// Something between the digits, at places of choice.
    private static func spaced(_ digits: String, _ random: inout SeededGenerator) -> String {
        let separator = ["-", " ", "\u{2013}", "\u{2010}", "\u{A0}"].randomElement(using: &random)!
        var text = String(digits.prefix(1))
        for digit in digits.dropFirst() { text += (Bool.random(using: &random) ? separator : "") + String(digit) }
        return text
    }

    static func code(_ rule: Rule, _ random: inout SeededGenerator) -> Code {
        func suffix(_ number: String, _ count: Int) -> String { String(number.suffix(count)) }
        var number = ""
        var forms: [String] = []
        switch rule {
        case .gtin14:
            number = self.number(String(Int.random(in: 1...9, using: &random)) + digits(12, &random))
            forms = [number]
        case .gtin13:
            number = self.number("0" + String(Int.random(in: 20...96, using: &random)) + digits(10, &random))
            forms = [suffix(number, 13)]
        case .gtin12:
            number = self.number("00" + digits(11, &random))
            // What a spreadsheet leaves of it.
            forms = [suffix(number, 12), suffix(number, 13), "\(Int(number)!)", "\(Int(number)!).0"]
        case .gtin8:
            number = self.number("000000" + digits(7, &random))
            forms = [suffix(number, 8), "\(Int(number)!)"]
        case .upcE:
            // A UPC-A with zeros where they may be left out (GS1 General Specifications, figure 5.2.2.4.2-1).
            let system = String(Int.random(in: 0...1, using: &random))
            let (d, last) = (digits(5, &random).map(String.init), Int.random(in: 0...9, using: &random))
            let (body, six): (String, String) =
                switch last {
                case 0...2: (d[0] + d[1] + "\(last)0000" + d[2] + d[3] + d[4], d.joined() + "\(last)")
                case 3: (d[0] + d[1] + d[2] + "00000" + d[3] + d[4], d.joined() + "3")
                case 4: (d[0] + d[1] + d[2] + d[3] + "00000" + d[4], d.joined() + "4")
                default: (d.joined() + "0000\(last)", d.joined() + "\(last)")
                }
            number = self.number("00" + system + body)
            let eight = system + six + suffix(number, 1)
            forms = [eight, suffix(number, 12), "\(Int(eight)!)"] + (system == "0" ? [six] : [])
        case .isbn10:
            let body = digits(9, &random)
            let sum = zip(body, 1...9).map { Int(String($0))! * $1 }.reduce(0, +) % 11
            let ten = body + (sum == 10 ? "X" : "\(sum)")
            number = self.number("0978" + body)
            forms = [ten, suffix(number, 13), "ISBN " + ten, "ISBN-13: " + spaced(suffix(number, 13), &random)]
            forms += ["ISBN-10 " + spaced(ten, &random), "urn:isbn:" + ten.lowercased()]
        case .isbn979:
            number = self.number("0979" + digits(9, &random))
            forms = [suffix(number, 13), "ISBN " + suffix(number, 13)]
        }
        forms.append(contentsOf: forms.prefix(2).map { spaced($0, &random) })
        let lot = digits(4, &random)
        forms += [
            number, "(01)\(number)", "(01) \(number) (21) A\(lot)", "(17)261231(01)\(number)(10)B\(lot)",
            "01\(number)21\(lot)", "]C101\(number)10\(lot)", "]d201\(number)", "]Q310L\(lot)\u{1D}01\(number)",
            "]d2\u{1D}1726123110\(lot)\u{1D}01\(number)", "]E0\(suffix(number, 13))<GS>".replacing("<GS>", with: ""),
            "https://id.gs1.org/01/\(number)", "https://example.com/a/b/01/\(number)/10/\(lot)?17=261231",
            "HTTP://EXAMPLE.COM/01/\(number)#x", "id.gs1.org/gtin/\(number)/21/\(lot)",
        ]
        return Code(number: number, forms: number.hasPrefix("0") ? forms : forms.filter { !$0.hasPrefix("]E0") })
    }

    /// 2,000 codes of each rule, stored in one form and asked for in another.
    @Test(arguments: Rule.allCases)
    func codesAreFoundInEveryForm(rule: Rule) async throws {
        let seed: UInt64 = 54
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let indexer = try CatalogIndexer(at: folder.url, model: model)
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        let names = rule == .isbn10 || rule == .isbn979 ? ["ISBN", "isbn_13", "Barcode"] : ["EAN", "gtin", "Barcode"]
        let codes = (0..<2000).map { _ in Self.code(rule, &random) }
        let items = codes.enumerated().map { index, code in
            let entity = CatalogEntity(
                id: "\(index)",
                attributes: [names.randomElement(using: &random)!: code.forms.randomElement(using: &random)!])
            return IndexItem(entity, image: .print(print))
        }
        #expect(try indexer.index(items).added == codes.count)
        let catalog = try Catalog(at: folder.url, model: model)
        let byNumber = Dictionary(grouping: codes.indices) { codes[$0].number }
        for (index, code) in codes.enumerated() {
            let form = code.forms.randomElement(using: &random)!
            let found = try await catalog.entities(where: .hasCode([form])).entities
            let stored = found.map { "\($0.attributes)" }
            #expect(
                found.map(\.id) == byNumber[code.number]?.map(String.init),
                "seed \(seed): \(form), \(code.number), \(code.forms) \(stored)")
            if index % 4 > 0 { continue }
            // Another digit, with the right check digit and with a wrong one.
            var other = Array(code.number.dropLast())
            other[Int.random(in: 6..<13, using: &random)] = Character(String(Int.random(in: 0...9, using: &random)))
            let neighbor = Self.number(String(other))
            let wrong = String(neighbor.dropLast()) + String((neighbor.last!.wholeNumberValue! + 1) % 10)
            let neighbors = try await catalog.entities(where: .hasCode([neighbor])).entities.map(\.id)
            #expect(neighbors == byNumber[neighbor]?.map(String.init) ?? [], "seed \(seed): \(neighbor)")
            #expect(try await catalog.entities(where: .hasCode([wrong])).entities.isEmpty, "seed \(seed): \(wrong)")
        }
        #expect(try await catalog.verify().isEmpty)
    }

    @Test(arguments: [
        ("5449000000996;5449000054227", ["05449000000996", "05449000054227"]),
        ("5449000000996, 5449000054227", ["05449000000996", "05449000054227"]),
        ("5449000000996 / 5449000054227\n96385074", ["00000096385074", "05449000000996", "05449000054227"]),
        ("5449000000996 5449000054227", ["05449000000996", "05449000054227"]),
        ("['5449000000996', \"978-3-16-148410-0\"]", ["05449000000996", "09783161484100"]),
        ("SHELF 7", ["SHELF 7"]), (" shelf|7 ", ["7", "shelf", "shelf|7"]), ("SHELF/7", ["SHELF/7"]), ("", []),
        ("4006381333932", ["4006381333932"]), ("4006381-333932", ["4006381333932"]), ("000000", ["000000"]),
        ("=\"04006381333931\"", ["04006381333931"]), ("'4006381333931", ["04006381333931"]),
        ("9783161484100 51999", ["09783161484100"]), ("４００６３８１３３３９３１", ["04006381333931"]),
    ])
    func anAttributeMayHaveSeveral(value: String, expected: [String]) {
        let entity = CatalogEntity(id: "a", attributes: ["Ean_Code": value, "ocean": "4006381333931", "code": "7"])
        #expect(entity.productCodes.map(\.canonical) == expected)
    }

    @Test(arguments: [
        "EAN", "ean13", "EAN-13", "Ean Code", "eancode", "gtin", "GTIN_14", "gtins", "UPC", "upc-a", "upcCode", "ISBN",
        "isbn10", "ISBNs", "barcode", "Bar Code 2", "bar_code", "productBarcode", "EAN/UPC",
    ])
    func columnsWithCodesAreKnownByTheirNames(name: String) {
        let code = ProductCode.readings(of: "9783161484100")
        #expect(CatalogEntity(id: "a", attributes: [name: "978-3-16-148410-0"]).productCodes == code)
    }

    @Test(arguments: ["ocean", "mean", "code", "postcode", "price", "upcoming", "clean", "pregnant", ""])
    func otherColumnsHaveNone(name: String) {
        #expect(CatalogEntity(id: "a", attributes: [name: "9783161484100"]).productCodes.isEmpty)
    }

    /// Every way to change an entity changes what its codes find.
    @Test func codesFollowTheEntity() async throws {
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let url = folder.url.appendingPathComponent("catalog")
        let indexer = try CatalogIndexer(at: url, model: model)
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        func found(_ code: String, in url: URL) async throws -> [String] {
            try await Catalog(at: url, model: model).entities(where: .hasCode([code])).entities.map(\.id)
        }
        func store(_ attributes: [String: String]) throws {
            try indexer.index([IndexItem(CatalogEntity(id: "a", attributes: attributes), image: .print(print))])
        }
        try store(["EAN": "4006381333931", "Gtin": "5449000000996"])
        #expect(try await found("(01)04006381333931", in: url) == ["a"])
        #expect(try await found("5449000000996", in: url) == ["a"])
        try store(["EAN": "96385074"])
        #expect(try await found("4006381333931", in: url) == [])
        #expect(try await found("96385074", in: url) == ["a"])
        try await indexer.update("a") { $0.attributes = ["isbn": "0306406152"] }
        #expect(try await found("96385074", in: url) == [])
        #expect(try await found("9780306406157", in: url) == ["a"])
        let merged = folder.url.appendingPathComponent("merged")
        _ = try CatalogIndexer(at: merged, model: model).merge([url])
        #expect(try await found("ISBN 978-0-306-40615-7", in: merged) == ["a"])
        #expect(try await Catalog(at: merged, model: model).verify().isEmpty)
        try await indexer.remove("a")
        #expect(try await found("9780306406157", in: url) == [])
    }
}
