import Catalogs
import Imaging
import TestSupport
import Testing

/// Entities that a code names, beside those that the picture shows.
struct ProductCodeTests {
    private static func catalog(_ folder: TemporaryFolder) async throws -> Catalog {
        let indexer = try CatalogIndexer(at: folder.url, localFeatures: true)
        let attributes: [[String: String]] = [
            ["ean": "4006381333931"], ["gtin": "00012345678905"], ["isbn": "0306406152"], ["isbn": "9780306406157"],
            ["barcode": "SHELF 7"], [:],
        ]
        for (index, attributes) in attributes.enumerated() {
            let entity = CatalogEntity(id: "c\(index)", type: index < 3 ? "first" : "second", attributes: attributes)
            try await indexer.upsert(IndexItem(entity, image: .pixels(CoverFixture.cover(index))))
        }
        return try Catalog(at: folder.url)
    }

    @Test(arguments: [
        ("4006381333931", ["c0"]), ("4006381-333931", ["c0"]), ("04006381333931", ["c0"]), ("4006381333932", []),
        // A UPC-A is an EAN-13 with a zero in front.
        ("012345678905", ["c1"]), ("0012345678905", ["c1"]),
        // The books of 978 have ten digits, too.
        ("9780306406157", ["c2", "c3"]), ("SHELF 7", ["c4"]), ("shelf 7", []), ("", []),
    ])
    func codesFindTheEntitiesThatHaveThem(code: String, expected: [String]) async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        let plain = SampleImage.shapes(seed: 901, width: 320, height: 240, count: 12)
        for effort in SearchEffort.allCases {
            let found = try await catalog.search(
                matching: plain, options: SearchOptions(effort: effort, codes: [code]))
            #expect(found.map(\.id).sorted() == expected, "\(effort)")
            #expect(found.allSatisfy { $0.isNamedByCode && $0.confidence >= 0.98 && $0.outline == nil })
        }
    }

    @Test func codesJoinWhatThePictureShows() async throws {
        let folder = try TemporaryFolder()
        let catalog = try await Self.catalog(folder)
        let photograph = CoverFixture.photograph(of: 0).image
        let shown = try await catalog.search(matching: photograph)
        #expect(shown.map(\.id) == ["c0"] && !shown[0].isNamedByCode)

        let same = try await catalog.search(matching: photograph, options: SearchOptions(codes: ["4006381333931"]))
        #expect(same.map(\.id) == ["c0"] && same[0].isNamedByCode)
        #expect(same.first?.outline == shown.first?.outline)
        let both = try await catalog.search(matching: photograph, options: SearchOptions(codes: ["SHELF 7"]))
        #expect(Set(both.map(\.id)) == ["c0", "c4"])

        // What a code names is no surplus of the objects that are wanted.
        let (two, _) = CoverFixture.photograph([(0, 0.8, 20, SIMD2(180, 240)), (3, 0.6, 300, SIMD2(460, 240))])
        for code in ["4006381333931", "9780306406157"] {
            let found = try await catalog.search(
                matching: two, options: SearchOptions(maxObjects: 1, codes: [code]))
            #expect(found.contains { $0.isNamedByCode && $0.outline != nil }, "\(code)")
        }

        // The condition holds for codes as well.
        let options = SearchOptions(condition: .isAnyOf(.type, ["first"]), codes: ["SHELF 7", "9780306406157"])
        #expect(Set(try await catalog.search(matching: photograph, options: options).map(\.id)) == ["c0", "c2"])
    }
}
