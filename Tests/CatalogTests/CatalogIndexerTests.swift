import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

struct CatalogIndexerTests {
    @Test func findsWhatItTookIn() async throws {
        let fixture = try CatalogFixture()
        let report = try fixture.index()
        #expect((report.added, report.updated, report.unchanged, report.problems.count) == (6, 0, 0, 0))
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.count == 6)
        for index in 0..<6 {
            let matches = try await catalog.search(
                matching: SampleImage.blocks(seed: UInt64(index)),
                options: SearchOptions(limit: 3, bounds: MatchBounds(maxDistance: 2), effort: .prints, crops: .whole))
            #expect(matches.count == 3)
            #expect(matches.first?.entity.id == fixture.id(index) && matches.first?.distance == 0)
            #expect(matches.map(\.distance) == matches.map(\.distance).sorted())
        }
        #expect(
            try await catalog.search(
                matching: SampleImage.blocks(seed: 99), options: SearchOptions(bounds: MatchBounds(maxDistance: 0))
            )
            .isEmpty)
        #expect(
            try await catalog.search(matching: SampleImage.blocks(seed: 0), options: SearchOptions(limit: 0)).isEmpty)
        #expect(
            try await catalog.entities(for: [fixture.id(3), "unknown", fixture.id(1)]).map(\.id) == [
                fixture.id(3), fixture.id(1),
            ])
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func passesOverWhatHasNotChanged() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        let revision = try await Catalog(at: fixture.catalog).info.revision
        let again = try fixture.index()
        #expect((again.added, again.updated, again.unchanged) == (0, 0, 6))
        #expect(try await Catalog(at: fixture.catalog).info.revision == revision)

        try fixture.write(2, seed: 200)
        try fixture.write(6, seed: 6)
        // The same bytes, written anew: looked at, and found to be the same.
        try fixture.write(3, seed: 3)
        let changed = try fixture.index()
        #expect((changed.added, changed.updated, changed.unchanged) == (1, 1, 5))
        let found = try await Catalog(at: fixture.catalog).search(
            matching: SampleImage.blocks(seed: 200), options: SearchOptions(limit: 1, crops: .whole))
        #expect(found.first?.entity.id == fixture.id(2) && found.first?.distance == 0)
    }

    /// As programs do that turn an image in its file, or write its tags: into a new file, or the old one.
    @Test(arguments: [true, false]) func filesThatKeepTheirSizeAndTimeAreReadAgain(isNewFile: Bool) async throws {
        let fixture = try CatalogFixture(count: 2)
        // Bytes behind the image are ignored.
        var bytes = try Data(contentsOf: fixture.path(0)) + Data([0])
        try bytes.write(to: fixture.path(0))
        try fixture.index()
        let path = fixture.path(0).path
        var before = stat()
        try #require(stat(path, &before) == 0)
        bytes[bytes.count - 1] = 1
        let changed = path + ".new"
        if isNewFile {
            try bytes.write(to: URL(fileURLWithPath: changed))
            try #require(rename(changed, path) == 0)
        } else {
            let file = try FileHandle(forWritingTo: fixture.path(0))
            try file.write(contentsOf: bytes)
            try file.close()
        }
        var times = [before.st_atim, before.st_mtim]
        try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
        var after = stat()
        try #require(stat(path, &after) == 0)
        try #require(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        let report = try fixture.index()
        #expect((report.added, report.updated, report.unchanged) == (0, 1, 1), "\(report.problems)")
    }

    @Test func filesAreReadAgainOnRequest() throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        // As on a file system that keeps no such times.
        let queue = try DatabaseQueue(path: fixture.catalog.appendingPathComponent("catalog.sqlite").path)
        try queue.write { try $0.execute(sql: "UPDATE image SET contentHash = zeroblob(32) WHERE row >> 14 = 1") }
        try queue.close()
        #expect(try fixture.index().unchanged == 2)
        let indexer = try CatalogIndexer(at: fixture.catalog, readsUnchangedFiles: true)
        let report = try indexer.index(ImageSource.entries(at: fixture.images))
        #expect((report.updated, report.unchanged) == (1, 1))
    }

    @Test func reportsWhatCannotBeReadAndGoesOn() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        // One is damaged that was in the catalog, and one that is new.
        try Data("broken".utf8).write(to: fixture.path(1))
        try Data().write(to: fixture.images.appendingPathComponent("empty.jpg"))
        let report = try fixture.index()
        #expect(report.problems.count == 2)
        let words = report.problems.map(\.description).sorted().joined(separator: "\n")
        #expect(words.contains("empty.jpg: is empty"))
        #expect(words.contains("image1.png: is of no known image format"))
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.count == 6, "an entity whose new image is damaged stays")
        let found = try await catalog.search(
            matching: SampleImage.blocks(seed: 1), options: SearchOptions(limit: 1, crops: .whole))
        #expect(found.first?.entity.id == fixture.id(1) && found.first?.distance == 0)
    }

    @Test func aLongRunKeepsTheOrderOfItsItemsAndTheLastOfOneID() async throws {
        let fixture = try CatalogFixture(count: 0)
        let indexer = try CatalogIndexer(at: fixture.catalog, localFeatures: false)
        func item(_ id: Int, seed: Int, title: String? = nil) -> IndexItem {
            IndexItem(
                CatalogEntity(id: "\(id)", title: title), image: .pixels(SampleImage.blocks(seed: UInt64(seed))))
        }
        // Several chunks, of which one is stored while the next one is read. The first ids come again: at once, in the
        // chunk that is read while they are stored, and later.
        let new = (0..<70).map { item($0, seed: $0) }
        let items = [item(0, seed: 500)] + new[..<17] + [item(3, seed: 503)] + new[17...] + [item(5, seed: 505)]
        var processed: [Int] = []
        let report = try indexer.index(items, jobs: 1) { processed.append($0.processed) }
        #expect((report.added, report.updated, report.unchanged, report.problems.count) == (70, 3, 0, 0))
        #expect(processed == processed.sorted() && processed.last == items.count)

        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.reduceEntities(into: [String]()) { $0.append($1.id) } == (0..<70).map(String.init))
        for (id, seed) in [(0, 0), (3, 503), (5, 505), (40, 40)] {
            let expected = try indexer.model.featurePrint(for: SampleImage.blocks(seed: UInt64(seed)))
            #expect(try await catalog.featurePrint(for: "\(id)") == expected, "of entity \(id)")
        }
        let again = try indexer.index(items.dropFirst().map { $0 }, jobs: 2)
        #expect((again.added, again.updated) == (0, 4), "3 and 5 change and change back")
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func theNumberOfThreadsChangesNothing() async throws {
        let fixture = try CatalogFixture(count: 40)
        let items = try ImageSource.items(at: fixture.images).items
        var prints: [[FeaturePrint?]] = []
        for jobs in [1, 2, 5] {
            let url = fixture.folder.file("catalog\(jobs)")
            _ = try CatalogIndexer(at: url).index(items, jobs: jobs)
            let catalog = try Catalog(at: url)
            var found: [FeaturePrint?] = []
            for item in items { found.append(try await catalog.featurePrint(for: item.entity.id)) }
            prints.append(found)
        }
        #expect(prints[0] == prints[1] && prints[0] == prints[2] && !prints[0].contains(nil))
    }

    @Test func dropsWhatItIsToldAndWhatIsGone() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        let indexer = try CatalogIndexer(at: fixture.catalog)
        #expect(throws: CatalogError.self) { try indexer.removeAll([fixture.id(0), "unknown"]) }
        #expect(try Catalog(at: fixture.catalog).count == 6, "nothing is dropped where one id is unknown")
        try indexer.removeAll([fixture.id(0)])
        try FileManager.default.removeItem(at: fixture.path(4))
        #expect(try indexer.prune() == [fixture.id(4)])
        #expect(try Catalog(at: fixture.catalog).count == 4)
        #expect(try await Catalog(at: fixture.catalog).verify().isEmpty)
    }

    /// One image that its network gives no print ended the whole run, and none that followed was ever indexed.
    @Test func anImageWithoutAPrintIsAProblem() throws {
        let model = try FeaturePrintModel(SafeTensorsBuilder.withoutNormalization().data, named: "red and green")
        let colors: [[UInt8]] = [[255, 0, 0], [0, 0, 0], [0, 255, 0]]
        let items = try colors.enumerated().map { index, color in
            let pixels = [[UInt8]](repeating: color, count: 16).flatMap(\.self)
            let image = try PixelBuffer(pixels, width: 4, height: 4, format: .rgb8)
            return IndexItem(CatalogEntity(id: "e\(index)"), image: .pixels(image), origin: "image \(index)")
        }
        let folder = try TemporaryFolder()
        let report = try CatalogIndexer(at: folder.url, model: model).index(items)
        #expect(report.added == 2 && report.problems.map(\.subject) == ["image 1"])
        #expect(report.problems.first?.reason.contains("l2_normalize") == true, "\(report.problems)")
        #expect(try Catalog(at: folder.url).count == 2)
    }

    /// As when a task changes an entity while a run has read the entity's metadata, and not stored it yet.
    @Test func aRunKeepsImagesThatAreNewerThanIts() async throws {
        let fixture = try CatalogFixture(count: 20)
        func items(_ title: String) throws -> [IndexItem] {
            try ImageSource.items(at: fixture.images).items.map { item in
                var item = item
                item.entity.title = title
                return item
            }
        }
        let indexer = try CatalogIndexer(at: fixture.catalog)
        _ = try indexer.index(try items("one"))
        let last = try #require(try items("").last)
        var other = IndexItem(last.entity, image: .pixels(SampleImage.blocks(seed: 77)))
        other.entity.title = "other"
        var isFirst = true
        let run = try indexer.index(try items("two"), jobs: 1) { _ in
            guard isFirst else { return }
            isFirst = false
            #expect(throws: Never.self) { try indexer.index([other]) }
        }
        #expect(run.problems.map(\.subject) == [last.entity.image])
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.entities(for: [last.entity.id]).first?.title == "other")
        let report = try indexer.index(try items("two"))
        #expect((report.updated, report.unchanged) == (1, 19))
        let original = try catalog.model.featurePrint(
            for: PixelBuffer(contentsOf: URL(fileURLWithPath: last.entity.image)))
        #expect(try await catalog.featurePrint(for: last.entity.id).distance(to: original) < 1e-3)
    }

    /// The rows that had passed a filter were kept although the matrix is of an earlier revision during a run.
    @Test func filtersSeeWhatARunChanged() async throws {
        let fixture = try CatalogFixture(count: 4)
        func items(_ label: String) throws -> [IndexItem] {
            try ImageSource.items(at: fixture.images).items.map { item in
                var item = item
                item.entity.labels = [label]
                return item
            }
        }
        let indexer = try CatalogIndexer(at: fixture.catalog)
        _ = try indexer.index(try items("before"))
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: PixelBuffer(contentsOf: fixture.path(0)))
        func found() async throws -> Int {
            try await catalog.ranking(
                of: query, limit: 10, bounds: .none, condition: .isAnyOf(.label, ["before"]), after: nil
            ).count
        }
        #expect(try await found() == 4)
        for index in 0..<4 { try fixture.write(index, seed: UInt64(index) + 100) }
        var counts: [Int] = []
        for try await _ in indexer.run(over: try items("after")) { counts.append(try await found()) }
        #expect(counts == [0])
    }

    @Test func prunesOnlyWhatTheImagesOfARunAreAmong() throws {
        let folder = try TemporaryFolder()
        for name in ["a/one.png", "a/two.png", "b/three.png"] {
            try folder.write(try SampleImage.blocks(seed: UInt64(name.utf8.count)).pngData(), to: name)
        }
        let indexer = try CatalogIndexer(at: folder.file("catalog"))
        let (a, b) = (try ImageSource.entries(at: folder.file("a")), try ImageSource.entries(at: folder.file("b")))
        _ = try indexer.index(a)
        _ = try indexer.index(b)
        // As if b's disk were not mounted.
        try FileManager.default.removeItem(at: folder.file("b"))
        try FileManager.default.removeItem(at: folder.file("a/two.png"))
        let manifest = try ImageSource.entries(at: folder.write("id,image\none,a/one.png\n", to: "list.csv"))
        let (removed, keptCount, _) = try indexer.prune(inFoldersOf: manifest)
        #expect(removed == ["two"] && keptCount == 1)
        #expect(try indexer.prune(inFoldersOf: a).removed == [])
        #expect(try indexer.prune() == ["three"])
    }

    /// As if a disk were not mounted, to which a link in the folder leads, or on which images of a manifest are.
    @Test func prunesNothingThatMayBeOnAnotherDisk() throws {
        let folder = try TemporaryFolder()
        for (seed, name) in ["here/a.png", "here/b.png", "disk/c.png"].enumerated() {
            try folder.write(try SampleImage.blocks(seed: UInt64(seed)).pngData(), to: name)
        }
        let (disk, link) = (folder.file("disk"), folder.file("here/link"))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: disk)
        let lines = "id,image\n1,here/a.png\n2,here/b.png\n3,disk/c.png\n"
        let inputs = [folder.file("here"), try folder.write(lines, to: "list.csv")]
        for (number, input) in inputs.enumerated() {
            let entries = try ImageSource.entries(at: input)
            let indexer = try CatalogIndexer(at: folder.file("catalog\(number)"))
            #expect(try indexer.index(entries).added == 3)
            let (aside, image) = (folder.file("aside"), folder.file("here/b.png"))
            try FileManager.default.moveItem(at: disk, to: aside)
            try FileManager.default.moveItem(at: image, to: folder.file("b"))
            let (removed, keptCount, _) = try indexer.prune(inFoldersOf: entries)
            #expect(removed.count == 1 && removed[0].hasSuffix(["b", "2"][number]) && keptCount == 1)
            #expect(try indexer.prune(evenIfAll: true).count == 1)
            try FileManager.default.moveItem(at: aside, to: disk)
            try FileManager.default.moveItem(at: folder.file("b"), to: image)
        }
    }

    @Test func anEmptyCatalogIsACatalog() async throws {
        let folder = try TemporaryFolder()
        #expect(try CatalogIndexer(at: folder.url).index([]).processed == 0)
        let catalog = try Catalog(at: folder.url)
        #expect(catalog.count == 0)
        #expect(
            try await catalog.search(
                matching: SampleImage.blocks(seed: 1), options: SearchOptions(bounds: MatchBounds(maxDistance: 2))
            ).isEmpty
        )
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func thereIsOneWriterAtATime() throws {
        let fixture = try CatalogFixture()
        var first: CatalogIndexer? = try CatalogIndexer(at: fixture.catalog)
        let error = #expect(throws: CatalogError.self) { try CatalogIndexer(at: fixture.catalog) }
        #expect(error?.reason == .busy)
        _ = first?.model
        first = nil
        #expect(throws: Never.self) { try CatalogIndexer(at: fixture.catalog) }
    }

    /// A forked process shares the descriptors until it runs its program; what the writer had closed stayed locked.
    @Test func aForkedProcessDoesNotKeepTheLock() throws {
        let fixture = try CatalogFixture()
        var writer: CatalogIndexer? = try CatalogIndexer(at: fixture.catalog)
        _ = writer?.model
        let descriptors = URL(fileURLWithPath: "/proc/self/fd")
        var copies: [CInt] = []
        defer { for copy in copies { close(copy) } }
        for name in try FileManager.default.contentsOfDirectory(atPath: descriptors.path) {
            let path = try? FileManager.default.destinationOfSymbolicLink(
                atPath: descriptors.appendingPathComponent(name).path)
            guard let path, path.hasPrefix(fixture.catalog.path), path.hasSuffix("lock"), let descriptor = CInt(name)
            else { continue }
            copies.append(dup(descriptor))
        }
        try #require(!copies.isEmpty)
        writer = nil
        #expect(throws: Never.self) { try CatalogIndexer(at: fixture.catalog) }
    }

    @Test func readersSeeWhatAWriterFinished() throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        let reader = try Catalog(at: fixture.catalog)
        for index in 3..<9 { try fixture.write(index, seed: UInt64(index)) }
        #expect(reader.count == 3)
        try fixture.index()
        #expect(reader.count == 9)
    }

    @Test func anotherModelIsRefused() throws {
        let fixture = try CatalogFixture(count: 2)
        let other = try CatalogFixture.otherModel()
        try fixture.index()
        for attempt in [{ _ = try Catalog(at: fixture.catalog, model: other) }, { try fixture.index(model: other) }]
            as [() throws -> Void]
        {
            let error = #expect(throws: CatalogError.self) { try attempt() }
            #expect(
                error?.reason == .otherModel(catalog: try FeaturePrintModel.default().identity, given: other.identity))
        }
    }

    @Test func aModelOfTheUsersOwnStaysWithTheCatalog() async throws {
        let fixture = try CatalogFixture(count: 2)
        let other = try CatalogFixture.otherModel()
        try fixture.index(model: other)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.model.identity == other.identity)
        await #expect(throws: FeaturePrintError.self) {
            try await catalog.search(
                catalog.query(for: [try FeaturePrintModel.default().featurePrint(for: SampleImage.blocks(seed: 0))]))
        }
        try FileManager.default.removeItem(at: fixture.catalog.appendingPathComponent("model.safetensors"))
        let error = #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) }
        #expect(error?.reason == .modelUnavailable(other.identity))
    }

    @Test func severalEntitiesAreChangedTogetherOrNotAtAll() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        let indexer = try CatalogIndexer(at: fixture.catalog)
        let catalog = try Catalog(at: fixture.catalog)
        try await indexer.update([fixture.id(0), fixture.id(2)]) { $0.labels.append("sold") }
        let sold = try await catalog.entities(where: EntityField.label.isAnyOf(["sold"])).entities
        #expect(Set(sold.map(\.id)) == [fixture.id(0), fixture.id(2)])
        let error = await #expect(throws: CatalogError.self) {
            try await indexer.update([fixture.id(1), "unknown"]) { $0.type = "changed" }
        }
        #expect(error?.reason == .unknownEntities(["unknown"]))
        #expect(try await catalog.entities(where: EntityField.type.exists).entities.isEmpty)
    }

    /// Each kept a network, and memory for its passes.
    @Test func catalogsWithTheSameModelShareIt() throws {
        let (first, second) = (try CatalogFixture(count: 1), try CatalogFixture(count: 1))
        let other = try CatalogFixture.otherModel()
        try first.index(model: other)
        try second.index(model: other)
        let catalog = try Catalog(at: first.catalog)
        #expect(try Catalog(at: second.catalog).model === catalog.model)
        #expect(try CatalogIndexer(at: second.catalog).model === catalog.model)
        #expect(try Catalog(at: second.catalog, precision: .float32).model.precision == .float32)
    }

    /// As where a process was killed between writing the model and the database.
    @Test func aModelFileWithoutItsDatabase() async throws {
        let fixture = try CatalogFixture(count: 2)
        let other = try CatalogFixture.otherModel()
        try fixture.index(model: other)
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(atPath: fixture.catalog.path + "/catalog.sqlite" + suffix)
        }
        let error = #expect(throws: CatalogError.self) { try fixture.index() }
        #expect(error?.reason == .strayModel)
        try fixture.index(model: other)
        #expect(try Catalog(at: fixture.catalog).model.identity == other.identity)
    }
}
