import Catalogs
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Copies of catalogs that are in use, and queries that outlive the files of a catalog.
struct CatalogCopyTests {
    @Test func aCopyIsWholeWhileTheCatalogIsWritten() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let indexer = try CatalogIndexer(at: fixture.catalog)
        let folder = fixture.folder
        async let changes: Void = {
            for index in 0..<4 {
                try await indexer.upsert(
                    IndexItem(CatalogEntity(id: "new\(index)"), image: .pixels(CoverFixture.cover(20 + index))))
            }
        }()
        for number in 0..<3 {
            let url = folder.file("copy\(number)")
            try await catalog.copy(to: url)
            let copy = try Catalog(at: url)
            #expect((6...10).contains(copy.count))
            let problems = try await copy.verify()
            #expect(problems.isEmpty)
            let (image, _) = CoverFixture.photograph(of: 2)
            #expect(try await copy.search(matching: image).map(\.id) == ["c2"])
        }
        try await changes
        let last = folder.file("last")
        try await catalog.copy(to: last)
        #expect(try Catalog(at: last).count == 10)
        // It can be written, too.
        try await CatalogIndexer(at: last).remove("c0")
    }

    /// As when a service restores a catalog while it makes a snapshot. Of a folder that is gone there is none.
    @Test func aCopyHasTheModelOfItsPrints() async throws {
        let folder = try TemporaryFolder()
        let data = SafeTensorsBuilder.tiny().data
        let model = try FeaturePrintModel(data, named: "tiny")
        let (url, aside) = (folder.file("catalog"), folder.file("aside"))
        let image = SampleImage.blocks(seed: 1)
        _ = try CatalogIndexer(at: url, model: model).index([IndexItem(CatalogEntity(id: "a"), image: .pixels(image))])
        let catalog = try Catalog(at: url)
        try folder.write(Data("another".utf8), to: "catalog/model.safetensors")
        let copy = folder.file("copy")
        try await catalog.copy(to: copy)
        #expect(try Catalog(at: copy).model.identity == model.identity)
        try FileManager.default.moveItem(at: url, to: aside)
        await #expect(throws: CatalogError(subject: url.path, reason: .missing)) {
            try await catalog.copy(to: folder.file("none"))
        }
    }

    @Test func aFolderThatExistsIsNotOverwritten() async throws {
        let fixture = try CoverFixture(count: 1, localFeatures: false)
        let catalog = try Catalog(at: fixture.catalog)
        await #expect(throws: CatalogError.self) { try await catalog.copy(to: fixture.catalog) }
        #expect(try Catalog(at: fixture.catalog).count == 1)
    }

    @Test func aQueryWithoutItsScanRanksTheSame() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: CoverFixture.photograph(of: 3).image)
        let expected = try await catalog.search(query, options: SearchOptions(bounds: .none))
        #expect(expected.count == 6)
        #expect(try await catalog.search(query.withoutScan, options: SearchOptions(bounds: .none)) == expected)
    }
}
