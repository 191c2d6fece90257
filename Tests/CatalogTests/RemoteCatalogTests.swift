import CatalogEntities
import CatalogSearch
import Catalogs
import FeaturePrints
import Foundation
import GRDB
import Imaging
import LocalFeatures
import TestSupport
import Testing

/// Catalogs that something else keeps, record by record.
struct RemoteCatalogTests {
    @Test func aRemoteCatalogAnswersAsTheOneThatItsRecordsAreOf() async throws {
        let fixture = try CoverFixture()
        let local = try Catalog(at: fixture.catalog)
        let remote = try await RemoteCatalogSearch(KeptRecords(of: local))
        #expect(remote.count == 6 && remote.hasLocalFeatures)
        for index in [1, 4, 30] {
            let (image, _) = CoverFixture.photograph(of: index)
            for options in [
                SearchOptions(), SearchOptions(bounds: .none),
                SearchOptions(bounds: .none, effort: .prints),
                SearchOptions(bounds: .none, condition: EntityField.type.isAnyOf(["even"])),
            ] {
                let expected = try await local.search(matching: image, options: options)
                #expect(try await remote.search(matching: image, options: options) == expected)
            }
            let (query, local) = (try await remote.query(for: image), try await local.query(for: image))
            let options = SearchOptions(limit: 2, bounds: .none)
            var (pages, expected) = ([CatalogMatch](), [CatalogMatch]())
            for try await page in remote.pages(of: query, options: options) { pages += page }
            for try await page in try Catalog(at: fixture.catalog).pages(of: local, options: options) {
                expected += page
            }
            #expect(pages.count == 6 && pages == expected)
        }
    }

    /// All of its images have more votes than those of the others.
    @Test func anEntityWithManyImagesHidesNoOther() async throws {
        let folder = try TemporaryFolder()
        func item(_ id: String, _ image: PixelBuffer, count: Int) -> IndexItem {
            IndexItem(CatalogEntity(id: id), images: (0..<count).map { _ in .pixels(image) })
        }
        let images = (1...3).map { SampleImage.shapes(seed: $0, width: 300, height: 260) }
        _ = try CatalogIndexer(at: folder.file("catalog")).index([
            item("many", images[0], count: 90), item("b", images[1], count: 1), item("c", images[2], count: 1),
        ])
        let remote = try await RemoteCatalogSearch(KeptRecords(of: Catalog(at: folder.file("catalog"))))
        let extractor = try #require(remote.extractor)
        let query = LocalFeatureQuery(try extractor.queryFeatures(of: images[0]), model: extractor.model)
        let state = try remote.state()
        func ids(_ images: [Int64]) async throws -> Set<String> {
            Set(try await state.entities(for: images.map { ImageRow.entity($0) }).values.map(\.entity.id))
        }
        #expect(try await ids(state.mostVotedImages(80, by: query, in: nil, without: [])) == ["many"])
        #expect(try await ids(state.mostVoted(20, by: query, in: nil, without: [])) == ["many", "b", "c"])
    }

    @Test func anotherModelIsRefused() async throws {
        let fixture = try CoverFixture(count: 1)
        var kept = try await KeptRecords(of: Catalog(at: fixture.catalog))
        let model = try Catalog(at: fixture.catalog).model.identity
        kept.models = RemoteModels(prints: model, localFeatures: "other")
        await #expect(throws: CatalogError(subject: "kept", reason: .otherLocalFeatures)) {
            try await RemoteCatalogSearch(kept)
        }
        let other = ModelIdentity(name: "other", digest: "00")
        kept.models = RemoteModels(prints: other, localFeatures: nil)
        await #expect(throws: CatalogError(subject: "kept", reason: .otherModel(catalog: other, given: model))) {
            try await RemoteCatalogSearch(kept)
        }
    }

    // MARK: Records

    @Test func recordsMakeTheSameCatalogAgain() async throws {
        let fixture = try CoverFixture()
        let local = try Catalog(at: fixture.catalog)
        let digest = local.localFeatureModelDigest
        let indexer = try CatalogIndexer(at: fixture.folder.file("again"))
        var row: Int64?
        repeat {
            let page = try await local.records(after: row, limit: 4)
            #expect(page.problems.isEmpty)
            #expect(try indexer.store(page.records, localFeatureModel: digest).added == page.records.count)
            row = page.next
        } while row != nil
        try indexer.finishRecords()
        let again = try Catalog(at: fixture.folder.file("again"))
        #expect(try await again.verify().isEmpty && again.count == 6)
        let (image, _) = CoverFixture.photograph(of: 3)
        #expect(try await again.search(matching: image) == local.search(matching: image))
        #expect(try await again.thumbnail(for: "c2") == local.thumbnail(for: "c2"))
        // The files are known: they are not read again.
        let (items, _) = try ImageSource.items(at: fixture.folder.file("manifest.jsonl"))
        #expect(try indexer.index(items).unchanged == 6)
        #expect(try indexer.store(await local.records(limit: 9).records, localFeatureModel: digest).unchanged == 6)
    }

    @Test func damagedRecordsAreReportedAndTheOthersStored() async throws {
        let fixture = try CoverFixture(count: 4)
        let local = try Catalog(at: fixture.catalog)
        var records = try await local.records(limit: 4).records
        records[0].images[0].print[0] += 1
        records[1].images[0].features = Data([1, 2, 3])
        records[2].images = []
        let indexer = try CatalogIndexer(at: fixture.folder.file("again"))
        let report = try indexer.store(records, localFeatureModel: local.localFeatureModelDigest)
        #expect((report.added, report.failed) == (1, 3))
        #expect(report.problems.map(\.subject) == ["entity “c0”", "entity “c1”", "entity “c2”"])
        #expect(throws: CatalogError.self) { try indexer.store(records, localFeatureModel: "other") }
        // What is damaged in the database is no record.
        try await DatabaseQueue(path: fixture.catalog.appendingPathComponent("catalog.sqlite").path).write {
            try $0.execute(
                sql: "UPDATE print SET vector = zeroblob(length(vector)) WHERE row = (SELECT MIN(row) FROM print)")
        }
        let page = try await local.records(limit: 4)
        #expect(page.records.count == 3 && page.problems.count == 1)
    }
}

/// The records of a catalog in memory; every image is voted for.
struct KeptRecords: RemoteCatalog {
    let name = "kept"
    var models: RemoteModels
    private let records: [CatalogRecord]

    init(of catalog: Catalog) async throws {
        records = try await catalog.records(limit: 1000).records
        models = RemoteModels(prints: catalog.model.identity, localFeatures: catalog.localFeatureModelDigest)
    }

    private func images(in selection: RemoteSelection = RemoteSelection()) -> [CatalogRecord.Image] {
        records.filter { record in
            let isSelected = selection.condition.visited(by: TypeFilter(type: record.entity.type))
            return isSelected && !selection.excluded.contains(record.row)
                && selection.only?.contains(record.row) ?? true
        }.flatMap(\.images)
    }

    func counts() -> RemoteCounts { RemoteCounts(entities: records.count, images: images().count) }

    func nearest(_ count: Int, to prints: [FeaturePrint], in selection: RemoteSelection) -> [Int64: [Float]] {
        func distance(_ image: CatalogRecord.Image) -> Float {
            prints.map { zip($0.vector, image.print).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } }.min() ?? 0
        }
        let nearest = images(in: selection).sorted { distance($0) < distance($1) }.prefix(count)
        return Dictionary(uniqueKeysWithValues: nearest.map { ($0.key, $0.print) })
    }

    func prints(of keys: [Int64]) -> [Int64: [Float]] {
        Dictionary(uniqueKeysWithValues: images().filter { keys.contains($0.key) }.map { ($0.key, $0.print) })
    }

    func mostVoted(_ count: Int, by words: [VisualWord], in selection: RemoteSelection) -> [Int64] {
        let asked = Set(words.map(\.word))
        func votes(_ image: CatalogRecord.Image) -> Int { image.words.count { asked.contains($0.word) } }
        return images(in: selection).sorted { votes($0) > votes($1) }.prefix(count).map(\.key)
    }

    func localFeatures(of keys: [Int64]) -> [Int64: Data] {
        images().filter { keys.contains($0.key) }.reduce(into: [:]) { $0[$1.key] = $1.features }
    }

    func thumbnails(of keys: [Int64]) -> [Int64: Data] {
        images().filter { keys.contains($0.key) }.reduce(into: [:]) { $0[$1.key] = $1.thumbnail?.data }
    }

    func selected(_ keys: [Int64], in selection: RemoteSelection) -> Set<Int64> {
        Set(images(in: selection).map(\.key)).intersection(keys)
    }

    func images(ofEntities rows: [Int64]) -> [Int64] {
        records.filter { rows.contains($0.row) }.flatMap(\.images).map(\.key)
    }

    func entities(for rows: [Int64]) -> [Int64: CatalogEntity] {
        records.filter { rows.contains($0.row) }.reduce(into: [:]) { $0[$1.row] = $1.entity }
    }
}

/// Whether a condition holds of an entity with a type; only conditions on the type, and none.
private struct TypeFilter: ConditionVisitor {
    let type: String?

    func isAnyOf(_ field: EntityField, _ values: [String]) -> Bool {
        field == .type && type.map(values.contains) ?? false
    }

    func other(_ condition: Condition) -> Bool { condition.isEverything }
}
