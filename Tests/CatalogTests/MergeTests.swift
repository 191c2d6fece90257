import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

/// Catalogs that several machines indexed, merged into one.
struct MergeTests {
    private let folder: TemporaryFolder
    private var merged: URL { folder.file("merged") }

    init() throws { folder = try TemporaryFolder() }

    private static func cover(_ number: Int) -> IndexItem {
        let entity = CatalogEntity(
            id: "c\(number)", type: number % 2 == 0 ? "even" : "odd", title: "Cover \(number)", labels: ["l"],
            attributes: ["number": "\(number)"])
        return IndexItem(entity, image: .pixels(CoverFixture.cover(number)))
    }

    @discardableResult
    private func catalog(_ name: String, _ items: [IndexItem], localFeatures: Bool = true) throws -> URL {
        let url = folder.file(name)
        let report = try CatalogIndexer(at: url, localFeatures: localFeatures).index(items)
        try #require(report.problems.isEmpty)
        return url
    }

    /// Entities of which there can be many: a print each.
    private static func prints(_ numbers: Range<Int>, model: FeaturePrintModel) -> [IndexItem] {
        numbers.map { number in
            var vector = [Float](repeating: 0, count: model.dimension)
            vector[number % model.dimension] = 0.8
            vector[(number / model.dimension + number + 1) % model.dimension] = 0.6
            return IndexItem(
                CatalogEntity(id: "p\(number)"),
                image: .print(FeaturePrint(vector: vector, model: model.identity)))
        }
    }

    private func entities(_ url: URL) async throws -> [CatalogEntity] {
        try await Catalog(at: url).reduceEntities(into: []) { $0.append($1) }
    }

    /// What is put back is what was indexed, and nothing is embedded again.
    @Test func aCopiedEntityIsRestored() async throws {
        let url = try catalog("catalog", (0..<3).map(Self.cover))
        let catalog = try Catalog(at: url)
        let (before, thumbnail) = (try await entities(url), try await catalog.storedThumbnail(for: "c1"))
        let indexer = try CatalogIndexer(at: url)
        #expect(try indexer.copy(of: "none") == nil)
        let copy = try #require(try indexer.copy(of: "c1"))
        #expect(copy.byteCount > 1000)
        let other = CatalogEntity(id: "c1", title: "Other")
        try await indexer.upsert(IndexItem(other, image: .pixels(CoverFixture.cover(7))))
        let (image, _) = CoverFixture.photograph(of: 1)
        #expect(try await catalog.search(matching: image).map(\.entity.id) == [])
        try indexer.restore(copy)
        #expect(try await entities(url).sorted { $0.id < $1.id } == before)
        #expect(try await catalog.storedThumbnail(for: "c1") == thumbnail)
        let match = try #require(try await catalog.search(matching: image).first)
        #expect(match.entity.id == "c1" && match.outline != nil)
        #expect(try await catalog.verify().isEmpty)
        // Also where it is gone.
        try indexer.removeAll(["c1"])
        try indexer.restore(copy)
        #expect(try await catalog.search(matching: image).first?.entity.id == "c1")
    }

    @Test func aMergedCatalogAnswersAsOneThatIndexedAll() async throws {
        let items = (0..<6).map(Self.cover)
        let whole = try Catalog(at: catalog("whole", items))
        let parts = try [catalog("a", Array(items[..<2])), catalog("b", Array(items[2...]))]
        let report = try CatalogIndexer.merge(parts, into: merged)
        #expect((report.added, report.updated, report.unchanged) == (6, 0, 0))
        let result = try Catalog(at: merged)
        #expect(try await result.verify().isEmpty)
        #expect(try await entities(merged) == entities(folder.file("whole")))
        for number in 0..<6 {
            let (image, _) = CoverFixture.photograph(of: number)
            for effort in [SearchEffort.prints, .standard] {
                let options = SearchOptions(bounds: .none, effort: effort)
                let matches = try await result.search(matching: image, options: options)
                #expect(matches.count == 6)
                #expect(try await whole.search(matching: image, options: options) == matches)
            }
            let thumbnail = try await result.storedThumbnail(for: "c\(number)")
            #expect(thumbnail != nil)
            #expect(try await whole.storedThumbnail(for: "c\(number)") == thumbnail)
        }
        // Nothing has changed.
        let revision = try await result.info.revision
        let again = try CatalogIndexer.merge(parts, into: merged)
        #expect((again.added, again.updated, again.unchanged) == (0, 0, 6))
        #expect(try await result.info.revision == revision)
    }

    @Test func filesAreKnownAfterAMerge() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        _ = try CatalogIndexer.merge([fixture.catalog], into: merged)
        let (items, _) = try ImageSource.items(at: fixture.images)
        let report = try CatalogIndexer(at: merged).index(items)
        #expect((report.added, report.updated, report.unchanged) == (0, 0, 6))
    }

    @Test func entitiesKeepTheirImages() async throws {
        let entity = CatalogEntity(id: "several", images: ["front", "back", ""])
        let images = (0..<3).map { IndexImage.pixels(CoverFixture.cover($0)) }
        let part = try catalog("a", [IndexItem(entity, images: images), Self.cover(3)])
        _ = try CatalogIndexer.merge([part], into: merged)
        let result = try Catalog(at: merged)
        #expect(try await result.info.imageCount == 4)
        #expect(try await result.verify().isEmpty)
        #expect(try await entities(merged).first == entity)
        let match = try await result.search(matching: CoverFixture.photograph(of: 1).image).first
        #expect(match?.id == "several")
        #expect(match?.imageIndex == 1)
        #expect(try await result.storedThumbnail(for: "several", image: 2) != nil)
    }

    /// Also of those that the merged catalog has; what only that one has stays.
    @Test func theCatalogThatIsNamedLastHasTheLastWord() async throws {
        func item(_ id: String, cover: Int, title: String) -> IndexItem {
            IndexItem(CatalogEntity(id: id, title: title), image: .pixels(CoverFixture.cover(cover)))
        }
        try catalog("merged", [item("x", cover: 0, title: "old"), item("own", cover: 1, title: "own")])
        let a = try catalog("a", [item("x", cover: 2, title: "a"), item("y", cover: 3, title: "a")])
        let b = try catalog("b", [item("x", cover: 4, title: "b"), item("é", cover: 5, title: "b")])
        let report = try CatalogIndexer.merge([a, b], into: merged)
        #expect((report.added, report.updated) == (2, 1))
        #expect(report.notes.map(\.text) == ["1 of its entities is taken from a catalog that is named later"])
        #expect(report.notes.map(\.subject) == [a.path])
        let titles = try await entities(merged).map { "\($0.id) \($0.title ?? "")" }.sorted()
        #expect(titles == ["own own", "x b", "y a", "é b"])
        let result = try Catalog(at: merged)
        #expect(try await result.search(matching: CoverFixture.photograph(of: 4).image).map(\.id) == ["x"])
        // Drawings of one style resemble each other.
        let surely = SearchOptions(bounds: MatchBounds(minConfidence: 0.9))
        #expect(try await result.search(matching: CoverFixture.photograph(of: 2).image, options: surely).isEmpty)
        let other = try CatalogIndexer.merge([b, a], into: merged)
        #expect((other.added, other.updated, other.unchanged) == (0, 1, 2))
        #expect(try await result.search(matching: CoverFixture.photograph(of: 2).image).map(\.id) == ["x"])
        #expect(try await result.verify().isEmpty)
    }

    /// The images are not stored again.
    @Test func metadataAloneIsMerged() async throws {
        let part = try catalog("a", [Self.cover(0), Self.cover(1)])
        _ = try CatalogIndexer.merge([part], into: merged)
        let before = try await Catalog(at: merged).info
        try await CatalogIndexer(at: part).update("c1") { $0.title = "new" }
        let report = try CatalogIndexer.merge([part], into: merged)
        #expect((report.added, report.updated, report.unchanged) == (0, 1, 1))
        let info = try await Catalog(at: merged).info
        #expect(info.revision == before.revision)
        #expect(info.metadataRevision > before.metadataRevision)
        #expect(try await entities(merged).map(\.title) == ["Cover 0", "new"])
    }

    @Test func anInterruptedMergeIsCompleted() async throws {
        let model = try FeaturePrintModel.default()
        let parts = try [
            catalog("a", Self.prints(0..<2300, model: model), localFeatures: false),
            catalog("b", Self.prints(2000..<4000, model: model), localFeatures: false),
        ]
        var stops = 0
        // Every run is cancelled after its first commit that adds something.
        while true {
            let merged = merged
            let isDone = try await Task {
                do {
                    _ = try CatalogIndexer.merge(parts, into: merged) { report in
                        if report.added > 0 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    return true
                } catch is CancellationError {
                    return false
                }
            }.value
            if isDone { break }
            stops += 1
            let partial = try Catalog(at: merged)
            #expect(partial.count > 0)
            #expect(try await partial.verify().isEmpty)
        }
        #expect(stops >= 3)
        #expect(try await entities(merged).map(\.id) == (0..<4000).map { "p\($0)" })
        #expect(try await Catalog(at: merged).verify().isEmpty)
    }

    @Test func catalogsOfOtherModelsAreRefused() async throws {
        let other = try CatalogFixture(count: 1)
        try other.index(model: CatalogFixture.otherModel())
        let part = try catalog("a", [Self.cover(0)])
        for catalogs in [[part, other.catalog], [other.catalog, part]] {
            let error = #expect(throws: CatalogError.self) { try CatalogIndexer.merge(catalogs, into: merged) }
            #expect(error?.subject == catalogs[1].path)
            #expect(error.map { "\($0)" }?.contains("were made with model") ?? false)
            #expect(!FileManager.default.fileExists(atPath: merged.path))
        }
        // A new catalog has the model of the first.
        _ = try CatalogIndexer.merge([other.catalog], into: merged)
        #expect(try Catalog(at: merged).model.identity == Catalog(at: other.catalog).model.identity)
        let error = #expect(throws: CatalogError.self) { try CatalogIndexer.merge([part], into: merged) }
        #expect(error?.subject == part.path)
        #expect(try await Catalog(at: merged).info.entityCount == 1)
    }

    @Test func catalogsThatCannotBeMergedAreRefused() throws {
        let part = try catalog("a", [Self.cover(0)])
        let missing = folder.file("missing")
        #expect(throws: CatalogError(subject: missing.path, reason: .missing)) {
            try CatalogIndexer.merge([part, missing], into: merged)
        }
        #expect(!FileManager.default.fileExists(atPath: merged.path))
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: part)
        #expect(throws: CatalogError(subject: link.path, reason: .failed("cannot be merged into itself"))) {
            try CatalogIndexer.merge([link], into: part)
        }
        let other = try catalog("b", [Self.cover(1)])
        try DatabaseQueue(path: other.appendingPathComponent("catalog.sqlite").path).write { db in
            try db.execute(sql: "UPDATE setting SET value = 'other' WHERE key = 'localFeatureModel'")
        }
        #expect(throws: CatalogError(subject: other.path, reason: .otherLocalFeatures)) {
            try CatalogIndexer.merge([part, other], into: merged)
        }
    }

    /// It would have a fitting digest afterwards.
    @Test(arguments: [
        ("print", "UPDATE print SET vector = (SELECT vector FROM print ORDER BY row LIMIT 1)", "print is damaged"),
        ("print", "DELETE FROM print WHERE row > (SELECT MIN(row) FROM print)", "print is missing"),
        (
            "features",
            "UPDATE localFeatures SET data = zeroblob(length(data)) WHERE row > (SELECT MIN(row) FROM print)",
            "local features are damaged"
        ),
        ("thumbnail", "DELETE FROM thumbnail WHERE row > (SELECT MIN(row) FROM print)", "thumbnail is missing"),
        ("image", "DELETE FROM image WHERE row > (SELECT MIN(row) FROM print)", "images are not all stored"),
    ])
    func damageIsReportedAndNotCopied(_ part: String, sql: String, problem: String) async throws {
        let damaged = try catalog("a", [Self.cover(0), Self.cover(1)])
        let intact = try catalog("b", [Self.cover(2)])
        try await DatabaseQueue(path: damaged.appendingPathComponent("catalog.sqlite").path).write { db in
            try db.execute(sql: sql)
        }
        let report = try CatalogIndexer.merge([damaged, intact], into: merged)
        #expect((report.added, report.failed) == (2, 1))
        #expect(report.problems.count == 1)
        let words = report.problems.first?.description ?? ""
        #expect(words.hasPrefix("\(damaged.path): entity “c1”: its \(problem)"), "\(words)")
        #expect(try await Catalog(at: merged).verify().isEmpty)
        #expect(try await entities(merged).map(\.id) == ["c0", "c2"])
    }

    @Test func catalogsWithAndWithoutLocalFeatures() async throws {
        let without = try catalog("a", [Self.cover(0)], localFeatures: false)
        let with = try catalog("b", [Self.cover(1)])
        _ = try CatalogIndexer.merge([without], into: merged)
        #expect(try !Catalog(at: merged).hasLocalFeatures)
        _ = try CatalogIndexer.merge([with], into: merged)
        let result = try Catalog(at: merged)
        #expect(result.hasLocalFeatures)
        #expect(try await result.info.entitiesWithLocalFeatures == 1)
        #expect(try await result.verify().isEmpty)
        let match = try await result.search(matching: CoverFixture.photograph(of: 1).image).first
        #expect(match?.id == "c1")
        #expect((match?.inlierCount ?? 0) > 0)
    }
}
