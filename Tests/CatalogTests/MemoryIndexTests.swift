import Catalogs
import Compute
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing

/// Items from memory and streams, and changes of single entities.
struct MemoryIndexTests {
    private let folder: TemporaryFolder
    private var url: URL { folder.file("catalog") }

    init() throws { folder = try TemporaryFolder() }

    private static func entity(_ id: String, title: String? = nil, year: String = "1998") -> CatalogEntity {
        CatalogEntity(id: id, type: "album", title: title, labels: ["l"], attributes: ["year": year])
    }

    @Test func memoryAndFilesGiveTheSamePrintsFeaturesAndThumbnails() async throws {
        let image = SampleImage.shapes(seed: 4)
        let file = try folder.write(image.pngData(), to: "image.png")
        let indexer = try CatalogIndexer(at: url)
        let decoded = try PixelBuffer(contentsOf: file)
        let report = try await indexer.run(over: [
            IndexItem(Self.entity("file"), image: .file(file)),
            IndexItem(Self.entity("data"), image: .data(Data(contentsOf: file))),
            IndexItem(Self.entity("pixels"), image: .pixels(decoded)),
            IndexItem(Self.entity("print"), image: .print(indexer.model.featurePrint(for: decoded))),
        ]).report()
        #expect((report.added, report.problems.count) == (4, 0))

        let catalog = try Catalog(at: url)
        let print = try await catalog.featurePrint(for: "file")
        for id in ["data", "pixels", "print"] { #expect(try await catalog.featurePrint(for: id) == print) }
        let thumbnail = try #require(try await catalog.thumbnail(for: "file"))
        for id in ["data", "pixels"] { #expect(try await catalog.thumbnail(for: id) == thumbnail) }
        #expect(try await catalog.thumbnail(for: "print") == nil)
        // A larger thumbnail than the stored one needs the image, which is not kept.
        #expect(try await catalog.thumbnail(for: "data", longSide: 300) == thumbnail)
        let matches = try await catalog.search(matching: image)
        // The print says of the entity without local features that it has the same picture.
        #expect(Set(matches.filter { $0.outline != nil }.map(\.id)) == ["file", "data", "pixels", "print"])
        #expect(try await catalog.info.entitiesWithLocalFeatures == 3)
        #expect(try await catalog.entities(for: ["file", "data"]).map(\.image) == [file.path, ""])
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func whatIsInMemoryIsComparedByItsContents() async throws {
        let indexer = try CatalogIndexer(at: url)
        func run(seed: UInt64, title: String) async throws -> [Int] {
            let image = SampleImage.blocks(seed: seed)
            let report = try await indexer.run(over: [
                IndexItem(Self.entity("a", title: title), image: .data(image.pngData())),
                IndexItem(Self.entity("b", title: title), image: .pixels(image)),
                IndexItem(Self.entity("c", title: title), image: .print(indexer.model.featurePrint(for: image))),
            ]).report()
            return [report.added, report.updated, report.unchanged]
        }
        #expect(try await run(seed: 1, title: "one") == [3, 0, 0])
        #expect(try await run(seed: 1, title: "one") == [0, 0, 3])
        let catalog = try Catalog(at: url)
        let revision = try await catalog.info.revision
        #expect(try await run(seed: 1, title: "two") == [0, 3, 0])
        #expect(try await catalog.info.revision == revision, "metadata alone changed")
        #expect(try await run(seed: 2, title: "two") == [0, 3, 0])
        #expect(try await catalog.info.revision > revision)
        #expect(try await catalog.entities(for: ["a", "b", "c"]).map(\.title) == ["two", "two", "two"])
        #expect(try indexer.prune().isEmpty, "there is no file that could be gone")
        #expect(catalog.count == 3)
    }

    /// A commit waits for the disk, and takes longer than 500 prints.
    @Test func manyPrintsAreOneCommit() async throws {
        let indexer = try CatalogIndexer(at: url)
        let print = try indexer.model.featurePrint(for: SampleImage.shapes(seed: 1))
        _ = try await indexer.run(over: [IndexItem(Self.entity("first"), image: .print(print))]).report()
        let catalog = try Catalog(at: url)
        let revision = try await catalog.info.revision
        let items = (0..<500).map { IndexItem(Self.entity("\($0)"), image: .print(print)) }
        #expect(try await indexer.run(over: items).report().added == 500)
        #expect(try await catalog.info.revision == revision + 1)
        #expect(catalog.count == 501)
    }

    @Test func ignoredColorProfilesAreReported() async throws {
        // A segment that should have a profile (ICC.1:2022, annex B.4).
        let segment = Array("ICC_PROFILE\0\u{1}\u{1}no profile".utf8)
        var image = try SampleImage.shapes(seed: 1).jpegData()
        image.insert(contentsOf: [0xFF, 0xE2, 0, UInt8(segment.count + 2)] + segment, at: 2)
        let items = [
            IndexItem(Self.entity("a"), image: .data(image)),
            IndexItem(Self.entity("b"), image: .pixels(SampleImage.shapes(seed: 2))),
        ]
        let report = try await CatalogIndexer(at: url).run(over: items).report()
        #expect((report.added, report.problems.count) == (2, 0))
        try #require(report.notes.count == 1)
        #expect(report.notes[0].subject == items[0].origin)
        #expect(report.notes[0].text.hasPrefix("its color profile is ignored: "))
    }

    @Test func oneEntityIsSearchableAtOnceInAnOpenCatalog() async throws {
        let indexer = try CatalogIndexer(at: url)
        try await indexer.upsert(IndexItem(Self.entity("a"), image: .pixels(SampleImage.shapes(seed: 1))))
        let catalog = try Catalog(at: url)
        func found(_ seed: UInt64) async throws -> [String] {
            try await catalog.search(matching: SampleImage.shapes(seed: seed)).map(\.id)
        }
        #expect(try await found(1) == ["a"])
        #expect(try await found(2).isEmpty)
        try await indexer.upsert(IndexItem(Self.entity("b"), image: .pixels(SampleImage.shapes(seed: 2))))
        #expect(try await found(2) == ["b"])
        // Another image for the same entity.
        try await indexer.upsert(IndexItem(Self.entity("b"), image: .pixels(SampleImage.shapes(seed: 3))))
        #expect(try await found(2).isEmpty)
        #expect(try await found(3) == ["b"])
        try await indexer.remove("a")
        #expect(try await found(1).isEmpty)
        #expect(catalog.count == 1)

        let filter = Condition.isAnyOf(.attribute("year"), ["2001"])
        func withFilter() async throws -> [String] {
            try await catalog.search(matching: SampleImage.shapes(seed: 3), options: SearchOptions(condition: filter))
                .map(\.id)
        }
        #expect(try await withFilter().isEmpty)
        try await indexer.update(Self.entity("b", title: "New title", year: "2001"))
        #expect(try await withFilter() == ["b"])
        #expect(try await catalog.search(text: "new title").map(\.id) == ["b"])
        #expect(try await found(3) == ["b"], "its image stays")
    }

    @Test func problemsAreThrownAndChangeNothing() async throws {
        let indexer = try CatalogIndexer(at: url)
        try await indexer.upsert(IndexItem(Self.entity("a"), image: .pixels(SampleImage.blocks(seed: 1))))
        let catalog = try Catalog(at: url)
        let before = try await catalog.featurePrint(for: "a")
        let broken = await #expect(throws: IndexProblem.self) {
            try await indexer.upsert(IndexItem(Self.entity("a"), image: .data(Data("broken".utf8))))
        }
        #expect(broken?.subject == "entity “a”" && broken?.reason.contains("no known image format") == true)
        let other = FeaturePrint(vector: before.vector, model: ModelIdentity(name: "other", digest: "00"))
        let foreign = await #expect(throws: IndexProblem.self) {
            try await indexer.upsert(IndexItem(Self.entity("a"), image: .print(other), origin: "line 7"))
        }
        #expect(foreign?.description.hasPrefix("line 7: a print of model ") == true)
        #expect(foreign?.description.contains("cannot be compared with one of model other") == true)
        let long = FeaturePrint(vector: before.vector.map { $0 * 2 }, model: before.model)
        let tooLong = await #expect(throws: IndexProblem.self) {
            try await indexer.upsert(IndexItem(Self.entity("a"), image: .print(long)))
        }
        #expect(tooLong?.reason.hasPrefix("the print has the norm ") == true)
        await #expect(throws: IndexProblem(subject: "entity “”", reason: "has no id")) {
            try await indexer.upsert(IndexItem(Self.entity(""), image: .print(before)))
        }
        for attempt in [{ try await indexer.remove("b") }, { try await indexer.update(Self.entity("b")) }]
            as [@Sendable () async throws -> Void]
        {
            let error = await #expect(throws: CatalogError.self) { try await attempt() }
            #expect(error?.reason == .unknownEntities(["b"]))
        }
        #expect(try await catalog.featurePrint(for: "a") == before && catalog.count == 1)
    }

    @Test func aStreamIsIndexedAsItComesWithReports() async throws {
        let indexer = try CatalogIndexer(at: url)
        let (items, continuation) = AsyncStream.makeStream(of: IndexItem.self)
        for index in 0..<20 {
            // The last of an id counts, however close together they come.
            let image: IndexImage = .pixels(SampleImage.blocks(seed: UInt64(index)))
            continuation.yield(IndexItem(Self.entity("e\(index % 15)", title: "\(index)"), image: image))
        }
        continuation.yield(IndexItem(Self.entity("broken"), image: .data(Data())))
        continuation.finish()
        var processed: [Int] = []
        var last = IndexReport()
        for try await report in indexer.run(over: items, jobs: 1) {
            processed.append(report.processed)
            last = report
        }
        #expect(processed == processed.sorted() && processed.count >= 3 && processed.last == 21)
        #expect((last.added, last.updated, last.problems.map(\.subject)) == (15, 5, ["entity “broken”"]))
        let catalog = try Catalog(at: url)
        #expect(catalog.count == 15)
        #expect(try await catalog.entities(for: ["e0", "e4", "e5"]).map(\.title) == ["15", "19", "5"])
        let print = try catalog.model.featurePrint(for: SampleImage.blocks(seed: 15))
        #expect(try await catalog.featurePrint(for: "e0") == print)
    }

    @Test func whatCameBeforeAnErrorOfTheStreamIsSearchable() async throws {
        struct Broken: Error {}
        let indexer = try CatalogIndexer(at: url)
        try await indexer.upsert(IndexItem(Self.entity("a"), image: .pixels(SampleImage.blocks(seed: 1))))
        let catalog = try Catalog(at: url)
        let (items, continuation) = AsyncThrowingStream.makeStream(of: IndexItem.self)
        // A chunk of eight, and the start of the next one.
        for index in 0..<11 {
            continuation.yield(
                IndexItem(Self.entity("e\(index)"), image: .pixels(SampleImage.blocks(seed: UInt64(index)))))
        }
        continuation.finish(throwing: Broken())
        await #expect(throws: Broken.self) { _ = try await indexer.run(over: items, jobs: 1).report() }
        #expect(catalog.count == 12)
    }

    /// Cancels a task when its indexer is given a certain job.
    private final class CancellingExecutor: TaskExecutor {
        private struct State {
            var jobs = 0
            var cancel: (@Sendable () -> Void)?
        }
        private let state = Mutex(State())
        private let job: Int

        init(job: Int) { self.job = job }

        func setCancel(_ cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

        func enqueue(_ executorJob: consuming ExecutorJob) {
            let cancel = state.withLock { state in
                state.jobs += 1
                return state.jobs == job ? state.cancel : nil
            }
            cancel?()
            ComputeExecutor.shared.enqueue(executorJob)
        }
    }

    @Test(arguments: 1...4) func aCancelledChangeIsDoneOrNot(job: Int) async throws {
        let executor = CancellingExecutor(job: job)
        let indexer = try CatalogIndexer(at: url, localFeatures: false, executor: executor)
        let catalog = try Catalog(at: url)
        let image = SampleImage.blocks(seed: 3)
        let gate = AsyncStream.makeStream(of: Void.self)
        let change = Task {
            for await _ in gate.stream { break }
            try await indexer.upsert(IndexItem(Self.entity("a"), image: .pixels(image)))
        }
        executor.setCancel { change.cancel() }
        gate.continuation.yield()
        switch await change.result {
        case .success:
            #expect(try await catalog.search(matching: image, options: SearchOptions(bounds: .none)).first?.id == "a")
        case .failure(let error):
            #expect(error is CancellationError)
            #expect(try await catalog.entities(for: ["a"]).isEmpty)
        }
    }

    @Test func changesFromManyTasksAreAllKept() async throws {
        let indexer = try CatalogIndexer(at: url, thumbnailSide: nil, localFeatures: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<12 {
                group.addTask {
                    let image: IndexImage = .pixels(SampleImage.blocks(seed: UInt64(index)))
                    // Each entity twice, by two tasks.
                    try await indexer.upsert(IndexItem(Self.entity("e\(index % 6)"), image: image))
                }
            }
            try await group.waitForAll()
        }
        let catalog = try Catalog(at: url)
        #expect(catalog.count == 6)
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func aModelOfOnesOwnIsKeptAndTheDefaultIsNot() async throws {
        let model = folder.file("catalog/model.safetensors").path
        try await CatalogIndexer(at: url, model: .default())
            .upsert(IndexItem(Self.entity("a"), image: .pixels(SampleImage.blocks(seed: 1))))
        #expect(!FileManager.default.fileExists(atPath: model))
        let other = folder.file("other")
        _ = try CatalogIndexer(at: other, model: CatalogFixture.otherModel(), localFeatures: false)
        #expect(FileManager.default.fileExists(atPath: other.appendingPathComponent("model.safetensors").path))
    }
}
