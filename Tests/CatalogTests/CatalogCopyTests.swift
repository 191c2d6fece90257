import Catalogs
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
        let expected = try await catalog.search(query, bounds: .none)
        #expect(expected.count == 6)
        #expect(try await catalog.search(query.withoutScan, bounds: .none) == expected)
    }
}
