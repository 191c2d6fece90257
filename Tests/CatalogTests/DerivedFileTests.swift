import Catalogs
import Digests
import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

/// The derived files: when they are made, from what, and what is believed of one that is there.
struct DerivedFileTests {
    private static func matrix(_ fixture: CatalogFixture) -> URL {
        fixture.catalog.appendingPathComponent("prints.matrix")
    }

    private static func inode(_ url: URL) throws -> UInt64 {
        try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? UInt64)
    }

    private static func nearest(_ catalog: Catalog, seed: UInt64) async throws -> (id: String, distance: Double)? {
        try await catalog.search(
            matching: SampleImage.blocks(seed: seed),
            options: SearchOptions(limit: 1, bounds: .none, effort: .prints, crops: .whole)
        ).first.map { ($0.entity.id, $0.distance) }
    }

    /// Puts right digests into a header and its contents, as whoever wrote the file would.
    private static func sealed(_ data: Data) -> Data {
        var data = data
        data.replaceSubrange(104..<136, with: SHA256.hash(data[192...]))
        data.replaceSubrange(176..<192, with: SHA256.hash(data[..<176]).prefix(16))
        return data
    }

    private static func replace(_ url: URL, by data: Data) throws {
        try FileManager.default.removeItem(at: url)
        try data.write(to: url)
    }

    @Test func aMatrixOfAnotherHistoryIsNotBelieved() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let database = fixture.catalog.appendingPathComponent("catalog.sqlite")
        let backup = try Data(contentsOf: database)
        // One more entity after the backup …
        try fixture.write(4, seed: 40)
        try fixture.index()
        #expect(try await Self.nearest(Catalog(at: fixture.catalog), seed: 40)?.id == fixture.id(4))
        // … and another one after it was restored: the same number of changes, and the same row.
        for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
            try? FileManager.default.removeItem(at: fixture.catalog.appendingPathComponent(name))
        }
        try backup.write(to: database)
        try FileManager.default.removeItem(at: fixture.path(4))
        try fixture.write(6, seed: 60)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let found = try #require(try await Self.nearest(catalog, seed: 60))
        #expect(found.id == fixture.id(6) && found.distance == 0)
        #expect(try #require(try await Self.nearest(catalog, seed: 40)).distance > 0)
        #expect(try await catalog.verify().isEmpty)
    }

    /// In nanoseconds since 1970, times after 2262 need more than 64 bits.
    @Test func aMatrixMayBeFromTheFuture() async throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 10_413_792_000)], ofItemAtPath: Self.matrix(fixture).path)
        #expect(try await Self.nearest(Catalog(at: fixture.catalog), seed: 0)?.id == fixture.id(0))
    }

    @Test func verifyComparesTheMatrixWithTheDatabase() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let whole = try Data(contentsOf: Self.matrix(fixture))
        let rowBytes = catalog.model.dimension * 4
        var swapped = whole
        swapped.replaceSubrange(192..<(192 + rowBytes), with: whole[(192 + rowBytes)..<(192 + 2 * rowBytes)])
        swapped.replaceSubrange(
            (192 + rowBytes)..<(192 + 2 * rowBytes), with: whole[192..<(192 + rowBytes)])
        try Self.replace(Self.matrix(fixture), by: Self.sealed(swapped))
        #expect(
            try await Catalog(at: fixture.catalog).verify() == [
                "prints.matrix: does not match the database; it was rebuilt"
            ])
        #expect(try Data(contentsOf: Self.matrix(fixture)) == whole)
        #expect(try await Catalog(at: fixture.catalog).verify().isEmpty)
    }

    @Test(arguments: [1 << 20, 1 << 40, 1 << 58, 1 << 62, Int(UInt32.max)])
    func aHeaderWithAbsurdCountsIsNotBelieved(count: Int) throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let lists = fixture.catalog.appendingPathComponent("features.lists")
        // The total, at 24, says nothing in a matrix.
        for (file, fields) in [(Self.matrix(fixture), [(12, 4), (16, 8)]), (lists, [(12, 4), (16, 8), (24, 8)])] {
            let whole = try Data(contentsOf: file)
            for (offset, width) in fields {
                var absurd = whole
                withUnsafeBytes(of: UInt64(count).littleEndian) {
                    absurd.replaceSubrange(offset..<(offset + width), with: $0.prefix(width))
                }
                try Self.replace(file, by: Self.sealed(absurd))
                #expect(try Catalog(at: fixture.catalog).count == 2, "\(file.lastPathComponent): \(count) at \(offset)")
                #expect(try Data(contentsOf: file) == whole, "\(file.lastPathComponent): \(count) at \(offset)")
            }
        }
    }

    @Test func aMatrixThatIsCutWhileItIsOpenEndsNoProcess() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await Self.nearest(catalog, seed: 2)?.id == fixture.id(2))
        // In place, as another program might; reading beyond the new end raises SIGBUS.
        #expect(truncate(Self.matrix(fixture).path, 192) == 0)
        #expect(try await Self.nearest(catalog, seed: 2)?.id == fixture.id(2))
        #expect(catalog.count == 4)
    }

    @Test func truncatedPagesReadAsZerosAndTheFileStaysChanged() throws {
        #expect(Catalog.handleTruncatedFiles())
        let folder = try TemporaryFolder()
        let url = try folder.write(Data(repeating: 7, count: 100_000), to: "file")
        var file = try MappedFile(url)
        let bytes = try #require(file?.bytes)
        #expect(bytes.allSatisfy { $0 == 7 } && file?.isUnchanged == true)
        #expect(truncate(url.path, 50_000) == 0)
        #expect(file?.isUnchanged == false)
        // The rest of its last page is zeros anyway.
        #expect(bytes.prefix(50_000).allSatisfy { $0 == 7 } && bytes.dropFirst(50_000).allSatisfy { $0 == 0 })
        // As large as before, but what was read was not what is there.
        try FileHandle(forWritingTo: url).write(contentsOf: Data(repeating: 7, count: 100_000))
        #expect(file?.isUnchanged == false)
        file = nil
        #expect(try MappedFile(url)?.isUnchanged == true)
    }

    /// What is taken over from an earlier file and what is added give the same bytes as a file made from the database.
    @Test func filesAreTheSameHoweverTheyCameAbout() async throws {
        let fixture = try CoverFixture(count: 5)
        let files = ["prints.matrix", "features.lists"].map { fixture.catalog.appendingPathComponent($0) }
        func checkRebuilt(_ step: String) async throws {
            let contents = try files.map { try Data(contentsOf: $0) }
            for file in files { try FileManager.default.removeItem(at: file) }
            _ = try Catalog(at: fixture.catalog)
            for (file, data) in zip(files, contents) {
                #expect(try Data(contentsOf: file) == data, "\(file.lastPathComponent), \(step)")
            }
            #expect(try await Catalog(at: fixture.catalog).verify().isEmpty, "\(step)")
        }
        try await checkRebuilt("as made first")
        let extra = try fixture.folder.write(CoverFixture.cover(30).pngData(), to: "extra/x.png")
        let (items, _) = try ImageSource.items(at: extra.deletingLastPathComponent())
        _ = try CatalogIndexer(at: fixture.catalog).index(items)
        try await checkRebuilt("with one more")
        try fixture.write(CoverFixture.cover(31), as: 1)
        #expect(try fixture.index().updated == 1)
        try await checkRebuilt("with one changed")
        try CatalogIndexer(at: fixture.catalog).remove(["c0", "c3"])
        try await checkRebuilt("without two")
        try CatalogIndexer(at: fixture.catalog).remove(["c1", "c2", "c4", "x"])
        try await checkRebuilt("empty")
    }

    /// Prints that did not change are copied from the file before, not read again.
    @Test func whatDidNotChangeIsTakenOver() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let whole = try Data(contentsOf: Self.matrix(fixture))
        var marked = whole
        marked[192 + 9] ^= 1
        try Self.replace(Self.matrix(fixture), by: Self.sealed(marked))
        try fixture.write(4, seed: 4)
        try fixture.index()
        let next = try Data(contentsOf: Self.matrix(fixture))
        #expect(next[192 + 9] == marked[192 + 9])
        #expect(
            try await Catalog(at: fixture.catalog).verify() == [
                "prints.matrix: does not match the database; it was rebuilt"
            ])
        // Damage is not taken over.
        var damaged = try Data(contentsOf: Self.matrix(fixture))
        damaged[192 + 9] ^= 1
        try Self.replace(Self.matrix(fixture), by: damaged)
        try fixture.write(5, seed: 5)
        try fixture.index()
        #expect(try await Catalog(at: fixture.catalog).verify().isEmpty)
    }

    /// The earlier matrix serves while an indexer works, however many readers open the catalog.
    @Test func readersDoNotMakeFilesWhileAnIndexerWorks() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let before = try Self.inode(Self.matrix(fixture))
        for index in 4..<8 { try fixture.write(index, seed: UInt64(index)) }
        let (items, _) = try ImageSource.items(at: fixture.images)
        var opened: [Catalog] = []
        let indexer = try CatalogIndexer(at: fixture.catalog)
        _ = try indexer.index(items, jobs: 1) { _ in
            do {
                let catalog = try Catalog(at: fixture.catalog)
                #expect(try catalog.count == 4 && Self.inode(Self.matrix(fixture)) == before)
                opened.append(catalog)
            } catch {
                Issue.record(error)
            }
        }
        #expect(!opened.isEmpty)
        for catalog in opened {
            #expect(catalog.count == 8)
            #expect(try await Self.nearest(catalog, seed: 6)?.id == fixture.id(6))
        }
    }

    /// Without any file and while an indexer works, a reader keeps what it needs in memory.
    @Test func aReaderWithoutFilesSearchesAllTheSame() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        try FileManager.default.removeItem(at: Self.matrix(fixture))
        try FileManager.default.removeItem(at: fixture.catalog.appendingPathComponent("features.lists"))
        let indexer = try CatalogIndexer(at: fixture.catalog)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.count == 4)
        #expect(try await Self.nearest(catalog, seed: 3)?.id == fixture.id(3))
        #expect(!FileManager.default.fileExists(atPath: Self.matrix(fixture).path))
        #expect(
            try await catalog.verify()
                == ["prints.matrix", "features.lists"].map {
                    "\($0): is missing or damaged; the next index run rebuilds it"
                })
        _ = try indexer.index([])
        #expect(try await catalog.verify().isEmpty)
    }
}
