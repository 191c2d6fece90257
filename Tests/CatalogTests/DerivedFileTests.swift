import CatalogStore
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

    private static func replace(_ url: URL, by data: Data, isThere: Bool = true) throws {
        if isThere { try FileManager.default.removeItem(at: url) }
        try data.write(to: url)
    }

    /// A change that is stored is not reported as one that failed, and removing goes on.
    @Test func aChangeIsStoredAlthoughDerivedFilesCannotBeWritten() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        // Nothing can be renamed to the name of a folder that has something in it.
        let matrix = Self.matrix(fixture)
        try FileManager.default.removeItem(at: matrix)
        try FileManager.default.createDirectory(
            at: matrix.appendingPathComponent("x"), withIntermediateDirectories: true)
        try fixture.write(3, seed: 3)
        let indexer = try CatalogIndexer(at: fixture.catalog)
        let entries = try ImageSource.entries(at: fixture.images)
        let unchanged = #expect(throws: CatalogError.self) { try indexer.index(entries) }
        #expect(unchanged?.isUnwritable == true, "\(String(describing: unchanged))")
        #expect(try Catalog(at: fixture.catalog).count == 3)
        let item = try #require(entries.compactMap { try? $0.get() }.first { $0.entity.id == fixture.id(3) })
        let error = await #expect(throws: CatalogError.self) { try await indexer.upsert(item) }
        guard case .unsearchable = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect("\(try #require(error))".contains("the change is stored"))
        #expect(try Catalog(at: fixture.catalog).count == 4)
        try indexer.removeAll([fixture.id(0)])
        #expect(try Catalog(at: fixture.catalog).count == 3)
        try FileManager.default.removeItem(at: matrix)
        let found = try await Self.nearest(Catalog(at: fixture.catalog), seed: 3)
        #expect(found?.id == fixture.id(3) && found?.distance == 0)
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

    @Test func groupsOfDuplicatesAreKeptUntilTheCatalogChanges() async throws {
        let fixture = try CatalogFixture(count: 4)
        for (index, seed) in [(4, 1), (5, 1), (6, 2)] { try fixture.write(index, seed: UInt64(seed)) }
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let file = fixture.catalog.appendingPathComponent("duplicates.groups")
        func groups() async throws -> [[String]] {
            try await catalog.duplicates().map { [$0.reference.id] + $0.duplicates.map(\.entity.id) }
        }
        let found = try await groups()
        #expect(Set(found.map(Set.init)) == [Set([1, 4, 5].map(fixture.id)), Set([2, 6].map(fixture.id))])
        let (number, whole) = (try Self.inode(file), try Data(contentsOf: file))
        #expect(try await groups() == found)
        // Some of the entities have groups of their own, which are not kept.
        #expect(try await catalog.duplicates(where: EntityField.id.isAnyOf([1, 4, 6].map(fixture.id))).count == 1)
        #expect(try Self.inode(file) == number)
        #expect(try await catalog.verify().isEmpty)

        // What the file says is what is answered: the last byte is how the last member differs.
        let answered = try await catalog.duplicates().last?.duplicates.last?.difference
        #expect(answered == DuplicateGroup.Difference.none)
        try Self.replace(file, by: Self.sealed(whole.dropLast() + [3]))
        #expect(try await catalog.duplicates().last?.duplicates.last?.difference == .mirrored)
        // Damaged, and damaged with right digests.
        for data in [whole.dropLast() + [3], Self.sealed(whole.dropLast() + [77])] {
            try Self.replace(file, by: data)
            #expect(try await catalog.verify() == ["duplicates.groups: is damaged; it was removed"])
            try Self.replace(file, by: data, isThere: false)
            #expect(try await groups() == found)
            #expect(try Data(contentsOf: file) == whole)
        }

        try fixture.write(6, seed: 1)
        try fixture.index()
        #expect(try await groups().map(Set.init) == [Set([1, 4, 5, 6].map(fixture.id))])
        #expect(try Data(contentsOf: file) != whole)
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func matchesAreFoldedByTheGroupsThatAreKept() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.write(3, seed: 1)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let matches = try await catalog.search(
            matching: SampleImage.blocks(seed: 1), options: SearchOptions(bounds: .none))
        let compared = try await catalog.grouped(matches)
        #expect(compared.map(\.duplicates.count) == [1, 0, 0])
        _ = try await catalog.duplicates()
        #expect(try await catalog.grouped(matches) == compared)
        // A file without groups: nothing is compared again.
        let file = fixture.catalog.appendingPathComponent("duplicates.groups")
        var empty = try Data(contentsOf: file).prefix(192)
        empty.replaceSubrange(16..<32, with: Data(count: 16))
        try Self.replace(file, by: Self.sealed(empty))
        #expect(try await catalog.grouped(matches).map(\.duplicates.count) == [0, 0, 0, 0])
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
        let rowBytes = catalog.model.dimension * 2
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

    /// Flipped bits, and numbers that no writer of ours would write under right digests.
    @Test(arguments: ["prints.matrix", "features.lists", "prints.ivf", "duplicates.groups"])
    func damageEndsNoProcessAndIsMadeAnew(name: String) async throws {
        let fixture = try CoverFixture(count: 5)
        try fixture.write(CoverFixture.cover(0), as: 4)
        try fixture.index()
        try CatalogIndexer(at: fixture.catalog).setPrintIndex(.invertedFile)
        _ = try await Catalog(at: fixture.catalog).duplicates()
        let file = fixture.catalog.appendingPathComponent(name)
        let whole = try Data(contentsOf: file)
        let seed = UInt64(name.utf8.count)
        var random = SeededGenerator(seed: seed)
        for round in 0..<24 {
            var data = whole
            // The last kilobytes have the numbers that say where others are.
            let first = round % 2 == 0 ? 192 : max(192, whole.count - 8192)
            let position = Int.random(in: first..<(whole.count - 8), using: &random)
            if round % 3 == 0 {
                data[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            } else {
                // All bits, the smallest and largest integers, infinity and NaN.
                let numbers: [UInt32] = [.max, 0, 1, 0x7FFF_FFFF, 0x8000_0000, 0x7F80_0000, 0x7FC0_0000]
                let number = numbers[Int.random(in: numbers.indices, using: &random)]
                withUnsafeBytes(of: number) { data.replaceSubrange((position & ~3)..<((position & ~3) + 4), with: $0) }
            }
            let isThere = FileManager.default.fileExists(atPath: file.path)
            try Self.replace(file, by: round % 4 < 3 ? Self.sealed(data) : data, isThere: isThere)
            let (image, _) = CoverFixture.photograph(of: 1)
            if let catalog = try? Catalog(at: fixture.catalog) {
                _ = try? await catalog.search(matching: image, options: SearchOptions(bounds: .none))
                _ = try? await catalog.duplicates()
            }
            // An index run takes no damage over, and a second look finds nothing more.
            try await CatalogIndexer(at: fixture.catalog).update("c1") { $0.title = "Round \(round)" }
            _ = try? await Catalog(at: fixture.catalog).verify()
            _ = try await Catalog(at: fixture.catalog).duplicates()
            let problems = try await Catalog(at: fixture.catalog).verify()
            #expect(problems.isEmpty, "\(name), round \(round), byte \(position), seed \(seed): \(problems)")
            // Groups under right digests are believed; an inverted file that is damaged is removed.
            if ["prints.matrix", "features.lists"].contains(name) {
                #expect(try Data(contentsOf: file)[192...] == whole[192...], "\(name), round \(round), seed \(seed)")
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
        try CatalogIndexer(at: fixture.catalog).removeAll(["c0", "c3"])
        try await checkRebuilt("without two")
        try CatalogIndexer(at: fixture.catalog).removeAll(["c1", "c2", "c4", "x"])
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
    /// A long run makes the files each time that the catalog has grown by half, and by 4,096 images at least.
    @Test func searchesSeeWhatALongRunHasIndexed() async throws {
        let folder = try TemporaryFolder()
        let indexer = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false)
        var random = SeededGenerator(seed: 1)
        let items = (0..<20_000).map { number in
            let vector = random.floats(indexer.model.dimension)
            let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            let print = FeaturePrint(vector: vector.map { $0 / norm }, model: indexer.model.identity)
            return IndexItem(CatalogEntity(id: "e\(number)"), image: .print(print))
        }
        let matrix = folder.file("catalog").appendingPathComponent("prints.matrix")
        var sizes: [Int] = []
        for try await _ in indexer.run(over: items, jobs: 2) {
            let size = try Data(contentsOf: matrix, options: .alwaysMapped).count
            if size != sizes.last { sizes.append(size) }
        }
        try #require(sizes.count == 5)
        let images = sizes.map { 4096 * Double($0 - sizes[0]) / Double(sizes[1] - sizes[0]) }
        #expect(images.map { ($0 / 256).rounded() * 256 } == [0, 4096, 8192, 12288, 18432])
    }

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

    /// Where nothing can be written and nobody else is at work, files of an earlier state are not believed.
    @Test func aReaderThatCannotMakeFilesSearchesTheNewestState() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let files = ["prints.matrix", "features.lists"].map { fixture.catalog.appendingPathComponent($0) }
        let earlier = try files.map { try Data(contentsOf: $0) }
        for index in 4..<8 { try fixture.write(index, seed: UInt64(index)) }
        try fixture.index()
        for (file, data) in zip(files, earlier) { try data.write(to: file) }
        // A lock that cannot be opened for writing, as on a read-only disk.
        let lock = fixture.catalog.appendingPathComponent("derived.lock")
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        let catalog = try Catalog(at: fixture.catalog)
        for seed in [1, 6] as [UInt64] {
            #expect(catalog.count == 8)
            #expect(try await Self.nearest(catalog, seed: seed)?.id == fixture.id(Int(seed)))
            let photo = SampleImage.blocks(seed: seed)
            #expect(try await catalog.search(matching: photo).first?.entity.id == fixture.id(Int(seed)))
        }
        #expect(try Data(contentsOf: files[0]) == earlier[0])
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
