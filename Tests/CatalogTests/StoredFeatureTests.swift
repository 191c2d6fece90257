import Catalogs
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

/// Catalogs with and without local features, and damage to the file of their inverted lists.
struct StoredFeatureTests {
    private static func answers(_ catalog: Catalog, _ image: PixelBuffer) async throws -> [String] {
        try await catalog.search(matching: image, options: SearchOptions(bounds: .none)).map {
            "\($0.entity.id) \($0.confidence) \($0.inlierCount)"
        }
    }

    @Test func featuresMayBeLeftOutAndAddedLater() async throws {
        let fixture = try CoverFixture(count: 4, localFeatures: false)
        let before = try Catalog(at: fixture.catalog)
        #expect(!before.hasLocalFeatures && !FileManager.default.fileExists(atPath: fixture.lists.path))
        #expect(try await before.verify().isEmpty)
        let (image, _) = CoverFixture.photograph(of: 2)
        #expect(
            try await before.search(matching: image, options: SearchOptions(bounds: .none)).allSatisfy {
                $0.outline == nil
            })

        let added = try fixture.index()
        #expect((added.added, added.updated, added.unchanged) == (0, 4, 0))
        let after = try Catalog(at: fixture.catalog)
        #expect(after.hasLocalFeatures && after.count == 4)
        let found = try await after.search(matching: image)
        #expect(found.first?.entity.id == "c2" && found.first?.outline != nil)
        #expect(try await after.verify().isEmpty)
        let again = try fixture.index()
        #expect((again.added, again.updated, again.unchanged) == (0, 0, 4))
        // Indexing without them leaves those that there are.
        #expect(try fixture.index(localFeatures: false).unchanged == 4)
        #expect(try await Catalog(at: fixture.catalog).search(matching: image).first?.outline != nil)
    }

    @Test func aModelMayDoWithoutFeaturesUnlessAskedForThem() throws {
        let fixture = try CatalogFixture(count: 2)
        let model = try CatalogFixture.model { $0["lookalike.local_features"] = "none" }
        let items = try ImageSource.items(at: fixture.images).items
        func index(localFeatures: Bool?) throws -> (extracts: Bool, report: IndexReport) {
            let indexer = try CatalogIndexer(at: fixture.catalog, model: model, localFeatures: localFeatures)
            return (indexer.extractsLocalFeatures, try indexer.index(items))
        }
        let first = try index(localFeatures: nil)
        #expect(!first.extracts && first.report.added == 2)
        #expect(try !Catalog(at: fixture.catalog, model: model).hasLocalFeatures)
        let asked = try index(localFeatures: true)
        #expect(asked.extracts && asked.report.updated == 2)
        #expect(try Catalog(at: fixture.catalog, model: model).hasLocalFeatures)
        // A catalog that has features gets them of new images, too.
        let again = try index(localFeatures: nil)
        #expect(again.extracts && again.report.unchanged == 2)
        #expect(try !index(localFeatures: false).extracts)
    }

    @Test func featuresOfAnEarlierImageDoNotStay() async throws {
        let fixture = try CoverFixture(count: 4)
        let (image, _) = CoverFixture.photograph(of: 1)
        try fixture.write(CoverFixture.cover(20), as: 1)
        #expect(try fixture.index(localFeatures: false).updated == 1)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.search(matching: image).isEmpty)
        #expect(
            try await catalog.search(matching: image, options: SearchOptions(bounds: .none)).allSatisfy {
                $0.inlierCount < 7
            })
        #expect(try await catalog.verify().isEmpty)
        // The next indexing with features finds that one has none.
        #expect(try fixture.index().updated == 1)
        let (changed, _) = CoverFixture.photograph(of: 20)
        #expect(try await Catalog(at: fixture.catalog).search(matching: changed).first?.outline != nil)
    }

    @Test func listsThatAreMissingOrDamagedAreMadeAnew() async throws {
        let fixture = try CoverFixture(count: 4)
        let whole = try Data(contentsOf: fixture.lists)
        let (image, _) = CoverFixture.photograph(of: 2)
        let expected = try await Self.answers(Catalog(at: fixture.catalog), image)
        #expect(expected.count == 4 && expected[0].hasPrefix("c2 "))
        var damages: [(String, Data?)] = [("missing", nil), ("empty", Data()), ("too long", whole + Data([0]))]
        for count in [1, 120, 191, 192, 1000, whole.count - 1] {
            damages.append(("cut to \(count)", whole.prefix(count)))
        }
        for position in 0..<136 {
            var header = whole
            header[position] ^= 0x11
            damages.append(("byte \(position) of the header", header))
        }
        for (name, data) in damages {
            try FileManager.default.removeItem(at: fixture.lists)
            try data?.write(to: fixture.lists)
            let catalog = try Catalog(at: fixture.catalog)
            #expect(try Data(contentsOf: fixture.lists) == whole, "\(name): what is derived again is the same")
            if name.hasPrefix("byte") { continue }
            #expect(try await Self.answers(catalog, image) == expected, "\(name)")
        }
    }

    @Test func verifyTellsOfListsThatAreMissingOrWhoseContentsChanged() async throws {
        let fixture = try CoverFixture(count: 3)
        let catalog = try Catalog(at: fixture.catalog)
        let whole = try Data(contentsOf: fixture.lists)
        try FileManager.default.removeItem(at: fixture.lists)
        #expect(try await catalog.verify() == ["features.lists: is missing or damaged; it was rebuilt"])
        #expect(try Data(contentsOf: fixture.lists) == whole)
        // In the middle are the places where lists start, which are checked as the file is opened.
        for position in [192, 210, whole.count / 2, whole.count - 900, whole.count - 1] {
            var damaged = whole
            damaged[position] ^= 1
            try FileManager.default.removeItem(at: fixture.lists)
            try damaged.write(to: fixture.lists)
            let problem =
                position == whole.count / 2
                ? "is missing or damaged; it was rebuilt" : "its contents do not match its digest; it was rebuilt"
            #expect(try await catalog.verify() == ["features.lists: \(problem)"], "byte \(position)")
            #expect(try await catalog.verify().isEmpty && Data(contentsOf: fixture.lists) == whole)
        }
    }

    @Test func verifyTellsOfFeaturesThatCannotBeReadAndASearchGoesOn() async throws {
        let fixture = try CoverFixture(count: 3)
        let database = try DatabaseQueue(path: fixture.catalog.appendingPathComponent("catalog.sqlite").path)
        try await database.write { db in
            try db.execute(
                sql: """
                    UPDATE localFeatures SET data = x'0102' \
                    WHERE row >> 14 = (SELECT row FROM entity WHERE id = 'c1')
                    """)
        }
        try database.close()
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.verify() == ["entity “c1”: its local features cannot be read"])
        let (image, _) = CoverFixture.photograph(of: 1)
        let found = try await catalog.search(matching: image, options: SearchOptions(bounds: .none))
        #expect(found.count == 3 && found.first { $0.entity.id == "c1" }?.outline == nil)
        let (other, _) = CoverFixture.photograph(of: 2)
        #expect(try await catalog.search(matching: other).first?.outline != nil)
    }

    @Test func listsOfAnEarlierRevisionAreNotUsed() async throws {
        let fixture = try CoverFixture(count: 4)
        let old = try Data(contentsOf: fixture.lists)
        try CatalogIndexer(at: fixture.catalog).removeAll(["c2"])
        let new = try Data(contentsOf: fixture.lists)
        #expect(new != old)
        // As after a kill between the commit and the new lists.
        try old.write(to: fixture.lists)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try Data(contentsOf: fixture.lists) == new)
        let (image, _) = CoverFixture.photograph(of: 2)
        #expect(try await Self.answers(catalog, image).count == 3)
    }

    /// Between a writer's two new files a reader has the old lists and the new matrix.
    @Test func aReaderPassesOverEntitiesThatOnlyTheListsStillHave() async throws {
        let fixture = try CoverFixture(count: 4)
        let old = try Data(contentsOf: fixture.lists)
        let reader = try Catalog(at: fixture.catalog)
        try CatalogIndexer(at: fixture.catalog).removeAll(["c2"])
        try FileManager.default.removeItem(at: fixture.lists)
        try old.write(to: fixture.lists)
        let (image, _) = CoverFixture.photograph(of: 2)
        let found = try await reader.search(matching: image, options: SearchOptions(bounds: .none))
        #expect(Set(found.map(\.entity.id)) == ["c0", "c1", "c3"])
    }

    @Test func aReaderSeesFeaturesThatAWriterAdded() async throws {
        let fixture = try CoverFixture(count: 4)
        let reader = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 20)
        #expect(try await reader.search(matching: image).isEmpty)
        try fixture.write(CoverFixture.cover(20), as: 1)
        try fixture.index()
        let found = try await reader.search(matching: image)
        #expect(found.first?.entity.id == "c1" && found.first?.outline != nil)
    }

    /// Removing an entity made it a catalog with local features, although no entity had any: matches had to be surer.
    @Test func onlyFeaturesMakeACatalogOneWithFeatures() throws {
        let fixture = try CatalogFixture(count: 3)
        let items = try ImageSource.items(at: fixture.images).items
        _ = try CatalogIndexer(at: fixture.catalog, localFeatures: false).index(Array(items.prefix(2)))
        try CatalogIndexer(at: fixture.catalog).removeAll([items[0].entity.id])
        #expect(try !Catalog(at: fixture.catalog).hasLocalFeatures)
        _ = try CatalogIndexer(at: fixture.catalog).index(Array(items.suffix(1)))
        #expect(try Catalog(at: fixture.catalog).hasLocalFeatures)
        // An empty catalog gets what it was made for.
        _ = try CatalogIndexer(at: fixture.folder.file("empty")).index([])
        #expect(try Catalog(at: fixture.folder.file("empty")).hasLocalFeatures)
    }

    @Test func leftoversOfKilledWritersAreSwept() throws {
        let fixture = try CoverFixture(count: 2)
        let leftover = fixture.catalog.appendingPathComponent("features.lists.\(getpid())-1.part")
        try Data("half".utf8).write(to: leftover)
        try fixture.write(CoverFixture.cover(9), as: 0)
        try fixture.index()
        #expect(!FileManager.default.fileExists(atPath: leftover.path))
    }

    @Test func anEmptyCatalogAndImagesWithoutFeaturesAreSearched() async throws {
        let fixture = try CoverFixture(count: 0)
        let (image, _) = CoverFixture.photograph(of: 2)
        #expect(
            try await Catalog(at: fixture.catalog).search(matching: image, options: SearchOptions(bounds: .none))
                .isEmpty)
        let gray = try PixelBuffer([UInt8](repeating: 128, count: 60 * 50 * 3), width: 60, height: 50, format: .rgb8)
        let url = try fixture.folder.write(gray.pngData(), to: "gray/g.png")
        let (items, _) = try ImageSource.items(at: url.deletingLastPathComponent())
        _ = try CatalogIndexer(at: fixture.catalog).index(items)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(
            try await catalog.search(matching: image, options: SearchOptions(bounds: .none)).map(\.entity.id) == ["g"])
        #expect(
            try await catalog.search(matching: gray, options: SearchOptions(bounds: .none)).map(\.entity.id) == ["g"])
        // Looked at, and without features: not looked at again.
        #expect(try CatalogIndexer(at: fixture.catalog).index(items).unchanged == 1)
    }
}
