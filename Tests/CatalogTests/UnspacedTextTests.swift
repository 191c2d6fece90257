import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// Words in scripts with and without spaces.
struct UnspacedTextTests {
    private static let titles = [
        "japanese": "夜行バスの旅", "chinese": "北京大学 图书馆", "thai": "ต้มยำกุ้งน้ำข้น", "korean": "서울의 봄",
        "mixed": "iPhone用ケース 2024年版",
        "halfwidth": "ﾊﾞﾅﾅ ＡＢＣ", "rare": "𠮷野家", "latin": "Café Übung", "spaced": "夜 行", "khmer": "ភាសាខ្មែរ",
    ]

    private static func catalog() async throws -> (Catalog, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false)
        let image = IndexImage.pixels(SampleImage.blocks(seed: 1))
        let items = titles.sorted { $0.key < $1.key }.map { id, title in
            IndexItem(CatalogEntity(id: id, title: title, labels: id == "latin" ? ["猫と犬"] : []), image: image)
        }
        _ = try indexer.index(items)
        return (try Catalog(at: folder.file("catalog")), folder)
    }

    @Test func wordsAreFoundInScriptsWithoutSpaces() async throws {
        let (catalog, folder) = try await Self.catalog()
        for (text, ids) in [
            // Inside, at the beginning, at the end, whole; a single letter; letters that do not follow each other.
            ("バス", ["japanese"]), ("夜行", ["japanese"]), ("の旅", ["japanese"]), ("夜行バスの旅", ["japanese"]),
            ("旅", ["japanese"]), ("夜", ["japanese", "spaced"]), ("夜バス", []), ("旅の", []), ("バスケット", []),
            ("大学", ["chinese"]), ("图书", ["chinese"]), ("大学 图书", ["chinese"]), ("学图", []), ("馆", ["chinese"]),
            ("ยำ", ["thai"]), ("กุ้ง", ["thai"]), ("น้ำ", ["thai"]), ("ขมิ้น", []), ("서울", ["korean"]), ("봄", ["korean"]),
            ("울의", ["korean"]), ("ខ្មែរ", ["khmer"]),
            // Several scripts in a word.
            ("ケース", ["mixed"]), ("iphone", ["mixed"]), ("iPh", ["mixed"]), ("iphone ケース", ["mixed"]),
            ("iPhone用ケ", ["mixed"]),
            ("2024", ["mixed"]), ("2024年", ["mixed"]), ("年版", ["mixed"]), ("phone", []),
            // Other widths, letters beyond the first 65,536, labels.
            ("バナナ", ["halfwidth"]), ("ﾊﾞﾅ", ["halfwidth"]), ("ナナ", ["halfwidth"]), ("abc", ["halfwidth"]),
            ("ＡＢ", ["halfwidth"]),
            ("𠮷", ["rare"]), ("吉", []), ("𠮷野", ["rare"]), ("猫", ["latin"]), ("と犬", ["latin"]), ("猫 café", ["latin"]),
            ("cafe", ["latin"]), ("ubung", ["latin"]), ("aaaaa", []),
        ] {
            #expect(try await catalog.search(text: text).map(\.id).sorted() == ids, "\(text)")
        }
        #expect(try await catalog.suggestions(for: "行バ") == ["夜行バスの旅"])
        #expect(try await catalog.verify().isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test func changedTextIsFound() async throws {
        let (catalog, folder) = try await Self.catalog()
        try await CatalogIndexer(at: folder.file("catalog")).update("japanese") { $0.title = "東京タワー" }
        #expect(try await catalog.search(text: "バス").isEmpty)
        #expect(try await catalog.search(text: "京タ").map(\.id) == ["japanese"])
        #expect(try await catalog.verify().isEmpty)
    }
}
