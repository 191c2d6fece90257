import Catalogs
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// What programs make, store and pass in beside images: results, folders, URLs and options.
struct InterfaceTests {
    private static func coded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test func resultsAreDecodedAsTheyWere() async throws {
        let fixture = try CoverFixture()
        let catalog = try await Catalog.open(at: fixture.catalog)
        let options = SearchOptions(limit: 3, bounds: .none)
        let query = try await catalog.query(for: CoverFixture.photograph(of: 2).image, options: options)
        let matches = try await catalog.search(query, options: options)
        #expect(matches.count == 3 && matches[0].outline != nil)
        let decoded = try Self.coded(matches)
        #expect(decoded == matches)
        var after = options
        after.cursor = decoded.last.map { SearchCursor(after: $0) }
        #expect(try await catalog.search(query, options: after).first.map { !matches.contains($0) } == true)
        let info = try await catalog.info
        #expect(try Self.coded(info) == info && info.typeCounts.map(\.value) == ["even", "odd"])
        let report = IndexReport(
            added: 1, failed: 1, problems: [IndexProblem(subject: "a.png", reason: "is empty")],
            notes: [IndexReport.Note(subject: "b.png", text: "its profile was ignored")])
        #expect(try Self.coded(report) == report && report.processed == 2)
        let group = DuplicateGroup(
            reference: matches[0].entity,
            duplicates: [.init(entity: matches[1].entity, difference: .crop, distance: 0.25)])
        #expect(try Self.coded(group) == group)
        #expect(try Self.coded(MatchGroup(match: matches[0], duplicates: [matches[1]])).match == matches[0])
    }

    @Test func aMatchIsMadeByAProgram() throws {
        let entity = CatalogEntity(id: "night-bus", type: "album", title: "Night Bus")
        let match = CatalogMatch(entity: entity, confidence: 0.75, distance: 0.5)
        #expect(match.id == "night-bus" && match.outline == nil && match.distance == 0.5)
        #expect(try Self.coded(match) == match)
    }

    @Test func aFolderIsIndexedByItsURL() async throws {
        let folder = try TemporaryFolder()
        for index in 0..<3 { try folder.write(CoverFixture.cover(index).pngData(), to: "images/\(index).png") }
        try folder.write("no image", to: "images/broken.png")
        let indexer = try await CatalogIndexer.open(at: folder.file("catalog"))
        let report = try await indexer.run(overFolder: folder.file("images")).report()
        #expect(report.added == 3 && report.failed == 1 && report.problems.count == 1)
        let manifest = try folder.write("id,image\na,images/0.png\na,images/1.png\n", to: "list.csv")
        let second = try await indexer.run(overFolder: manifest).report()
        #expect(second.added == 1 && second.problems.count == 1, "\(second)")
        var names: [String] = []
        for await entry in try ImageSource.entries(at: folder.file("images")) {
            names.append(try entry.get().entity.id)
        }
        #expect(names == ["0", "1", "2", "broken"])
        #expect(throws: IndexProblem.self) { try indexer.run(overFolder: folder.file("nowhere")) }
    }

    /// Its path without the scheme may be that of a file.
    @Test func theURLOfAnotherMachineIsRefusedByItsName() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(CoverFixture.cover(0).pngData(), to: "a.png")
        let remote = try #require(URL(string: "https://example.com" + file.path))
        let remoteFolder = try #require(URL(string: "https://example.com" + folder.file("catalog").path))
        func expectURL(_ body: () throws -> Void) {
            do {
                try body()
                Issue.record("\(remote) was taken for a file")
            } catch {
                #expect("\(error)".hasPrefix("https://example.com/"), "\(error)")
            }
        }
        expectURL { _ = try PixelBuffer(contentsOf: remote) }
        expectURL { _ = try FeaturePrintModel(contentsOf: remote) }
        expectURL { _ = try ImageSource.entries(at: remote) }
        expectURL { _ = try CatalogIndexer(at: remoteFolder) }
        expectURL { _ = try Catalog(at: remoteFolder) }
        #expect(!FileManager.default.fileExists(atPath: folder.file("catalog").path))
        let indexer = try CatalogIndexer(at: folder.file("catalog"))
        let report = try indexer.index([IndexItem(CatalogEntity(id: "a"), image: .file(remote))])
        #expect(report.failed == 1 && report.problems.first?.description.contains("https://example.com/") == true)
    }

    @Test(arguments: [90, -0.1, .nan, .infinity]) func aConfidenceIsAProbability(value: Double) async throws {
        let fixture = try CoverFixture(count: 2, localFeatures: false)
        let catalog = try Catalog(at: fixture.catalog)
        let options = SearchOptions(bounds: MatchBounds(minConfidence: value))
        let error = await #expect(throws: SearchOptionsError.self) {
            try await catalog.search(matching: CoverFixture.cover(0), options: options)
        }
        #expect(error?.subject == "minConfidence")
    }

    @Test func distancesAndSharesAreChecked() async throws {
        let fixture = try CoverFixture(count: 2, localFeatures: false)
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: CoverFixture.cover(0))
        for distance in [Double.nan, -1] {
            let options = SearchOptions(bounds: MatchBounds(maxDistance: .atMost(distance)))
            await #expect(throws: SearchOptionsError.self) { try await catalog.search(query, options: options) }
            await #expect(throws: SearchOptionsError.self) {
                try await catalog.facets(of: query, by: [.type], options: options)
            }
        }
        await #expect(throws: SearchOptionsError.self) {
            try await catalog.search(query, options: SearchOptions(recall: 95))
        }
    }
}
