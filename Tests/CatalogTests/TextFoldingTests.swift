import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Letters that people type in another way than titles have them.
struct TextFoldingTests {
    private static let pairs = [
        ("Łódź", "lodz"), ("Ørsted", "orsted"), ("Straße", "strasse"), ("STRASSE", "straße"), ("ΑΘΗΝΑ", "αθήνα"),
        ("Ὀδυσσεύς", "ΟΔΥΣΣΕΥΣ"), ("Đorđe", "dorde"), ("Œuvre", "oeuvre"), ("Ærø", "aero"), ("IŞIK", "ışık"),
        ("İstanbul", "istanbul"), ("Þórr", "thorr"), ("Ёлка", "елка"), ("КРАЙ", "край"), ("ﬁnal", "final"),
        ("ＡＢＣ", "abc"), ("Café", "cafe\u{301}"), ("Việt", "viet"), ("naïve", "NAIVE"), ("Dvořák", "dvorak"),
        ("مُحَمَّد", "محمد"), ("اَلْعَرَبِيَّةُ", "العربية"), ("كتـــاب", "كتاب"), ("שָׁלוֹם", "שלום"), ("㎏", "kg"), ("℡", "tel"),
        ("ᏣᎳᎩ", "ꮳꮃꭹ"),
    ]

    private static func catalog(_ titles: [String]) throws -> (Catalog, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        let url = folder.file("catalog")
        _ = try CatalogIndexer(at: url, model: model).index(
            titles.enumerated().map { index, title in
                IndexItem(CatalogEntity(id: "\(index)", title: title), image: .print(print))
            })
        return (try Catalog(at: url, model: model), folder)
    }

    @Test func lettersAreFoundInEachForm() async throws {
        let (catalog, folder) = try Self.catalog(Self.pairs.map { "The \($0.0) book" })
        for (index, (title, typed)) in Self.pairs.enumerated() {
            for text in [
                title, typed, title.lowercased(), typed.uppercased(), String(typed.dropLast()), "book " + typed,
            ] {
                let found = try await catalog.search(text: text, limit: 100).map(\.id)
                #expect(found.contains("\(index)"), "\(text) of \(title): \(found)")
            }
            #expect(TextFolding.folded(title) == TextFolding.folded(typed))
        }
        // Marks that are letters.
        #expect(TextFolding.folded("バス") != TextFolding.folded("ハス"))
        #expect(TextFolding.folded("हिन्दी") == "हिन्दी")
        #expect(try await catalog.verify().isEmpty)
        withExtendedLifetime(folder) {}
    }

    /// Letters that Unicode does not fold leave signs beside them as they are: a part of a title has the signs alone.
    @Test func partsAreFoldedAsInTheWhole() async throws {
        let titles = ["Łódź – “miasto”", "Øl — it’s …", "½ łyżki", "plain – it’s"]
        let (catalog, folder) = try Self.catalog(titles)
        for (index, title) in titles.enumerated() {
            for start in title.indices {
                let part = String(title[start...])
                let found = try await catalog.entities(where: .contains(.title, part)).entities.map(\.id)
                #expect(found.contains("\(index)"), "\(part) of \(title): \(found)")
            }
        }
        let plain = Condition.isAnyOf(.title, ["lodz – “MIASTO”"])
        #expect(try await catalog.entities(where: plain).entities.map(\.id) == ["0"])
        withExtendedLifetime(folder) {}
    }

    /// Each letter of the Latin, Greek and Cyrillic blocks, as it is, in the other case and folded.
    @Test func everyLetterIsFound() async throws {
        let blocks = [0xC0...0x24F, 0x370...0x52F, 0x1E00...0x1FFF] as [ClosedRange<UInt32>]
        let letters = blocks.joined().compactMap(Unicode.Scalar.init)
            .filter { $0.properties.isAlphabetic && $0.properties.generalCategory != .nonspacingMark }.map(String.init)
        let words = letters.enumerated().map { "w\($0)x\($1)y" }
        let (catalog, folder) = try Self.catalog(words)
        for (index, word) in words.enumerated() {
            let folded = TextFolding.folded(word)
            #expect(TextFolding.folded(folded) == folded)
            // An iota below a letter is a letter beside it in capitals.
            let isBelow = word.decomposedStringWithCanonicalMapping.unicodeScalars.contains("\u{345}")
            for text in [word, folded] + (isBelow ? [] : [word.uppercased()]) {
                let found = try await catalog.search(text: text, limit: 10).map(\.id)
                #expect(found.contains("\(index)"), "\(text) of \(word), \(folded): \(found)")
            }
        }
        withExtendedLifetime(folder) {}
    }
}
