import Catalogs
import Compute
import FeaturePrints
import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing

struct ConcurrentSearchTests {
    @Test func catalogsComputeOnThreadsOfThePackage() async throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let name = try await catalog.reading { Thread.current.name ?? "" }
        #expect(name.hasPrefix("lookalike-"))
    }

    @Test func orOnTheExecutorThatTheyAreGiven() async throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let executor = GatedExecutor()
        let catalog = try Catalog(at: fixture.catalog, executor: executor)
        executor.open()
        #expect(try await catalog.reading { executor.isCurrent })
        let found = try await catalog.search(
            matching: SampleImage.blocks(seed: 1), options: SearchOptions(limit: 1, bounds: .none))
        #expect(found.map(\.id) == [fixture.id(1)])
    }

    @Test func aSearchThatIsCancelledBeforeItBeginsNeverDoes() async throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let executor = GatedExecutor()
        let catalog = try Catalog(at: fixture.catalog, executor: executor)
        let timings = StageTimings()
        let search = Task {
            try await catalog.search(matching: SampleImage.blocks(seed: 1), options: SearchOptions(timings: timings))
        }
        search.cancel()
        executor.open()
        await #expect(throws: CancellationError.self) { try await search.value }
        #expect(timings.stages.isEmpty)
    }

    private static func print(of model: FeaturePrintModel, _ random: inout SeededGenerator) -> FeaturePrint {
        let values = random.floats(model.dimension).map { $0 - 0.5 }
        let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return FeaturePrint(vector: values.map { $0 / norm }, model: model.identity)
    }

    /// A catalog of more prints than are scanned at once.
    private static func indexPrints(in folder: URL, _ random: inout SeededGenerator) async throws -> FeaturePrintModel {
        let indexer = try CatalogIndexer(at: folder, thumbnailSide: nil)
        let items = (0..<((1 << 22) / indexer.model.dimension + 10)).map {
            IndexItem(CatalogEntity(id: "e\($0)"), image: .print(print(of: indexer.model, &random)))
        }
        _ = try await indexer.run(over: items).report()
        return indexer.model
    }

    /// Searches that have begun when another program truncates a file throw; the others find what they found before.
    @Test(arguments: ["prints.matrix", "features.lists"])
    func searchesThrowWhenAFileIsTruncatedMeanwhile(name: String) async throws {
        #expect(Catalog.handleTruncatedFiles() && Catalog.handleTruncatedFiles())
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 31)
        _ = try await Self.indexPrints(in: folder.url, &random)
        let images = (0..<(availableProcessorCount + 2)).map { CoverFixture.cover($0) }
        for (index, image) in images.enumerated() {
            let item = IndexItem(CatalogEntity(id: "cover \(index)"), image: .pixels(image))
            try await CatalogIndexer(at: folder.url).upsert(item)
        }
        func search(_ catalog: Catalog, _ image: PixelBuffer) async throws -> [CatalogMatch] {
            try await catalog.search(matching: image, options: SearchOptions(limit: 3, bounds: .none, crops: .whole))
        }
        var expected: [[CatalogMatch]] = []
        let first = try Catalog(at: folder.url)
        for image in images { expected.append(try await search(first, image)) }
        #expect(expected.enumerated().allSatisfy { $1.first?.id == "cover \($0)" && $1.first?.outline != nil })
        let file = folder.file(name).path
        var failures = 0
        // Each search is a job until its scan, the scans are joined in one that follows, and a job for each goes on.
        for job in (images.count - 1)...(images.count + 3) {
            let executor = GatedExecutor { if $0 == job { truncate(file, 4096) } }
            let catalog = try Catalog(at: folder.url, executor: executor)
            let searches = images.map { image in Task { try await search(catalog, image) } }
            while executor.jobCount < images.count { await Task.yield() }
            executor.open()
            for (task, expected) in zip(searches, expected) {
                do {
                    #expect(try await task.value == expected, "truncated before job \(job)")
                } catch let error as CatalogError {
                    failures += 1
                    #expect("\(error)".contains("\(name) was changed by another program"), "\(error)")
                }
            }
            for (image, expected) in zip(images, expected) { #expect(try await search(catalog, image) == expected) }
        }
        #expect(failures > 0)
    }

    /// More entities than are scanned at once, and more searches than there are threads: their scans are joined.
    @Test func manySearchesAtOnceFindWhatEachFindsAlone() async throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 12)
        let model = try await Self.indexPrints(in: folder.url, &random)
        let catalog = try Catalog(at: folder.url)
        var queries: [CatalogQuery] = []
        for index in 0..<40 {
            let prints = (0...(index % 5)).map { _ in Self.print(of: model, &random) }
            queries.append(try await catalog.query(for: prints).withoutScan)
        }
        var alone: [[CatalogMatch]] = []
        for query in queries {
            alone.append(try await catalog.search(query, options: SearchOptions(limit: 7, bounds: .none)))
        }
        let together = try await withThrowingTaskGroup(of: (Int, [CatalogMatch]).self) { group in
            for (index, query) in queries.enumerated() {
                group.addTask {
                    (index, try await catalog.search(query, options: SearchOptions(limit: 7, bounds: .none)))
                }
            }
            return try await group.reduce(into: [Int: [CatalogMatch]]()) { $0[$1.0] = $1.1 }
        }
        for index in queries.indices { #expect(together[index] == alone[index], "query \(index)") }

        // Some of those that are in flight are cancelled: they throw, and the others are answered.
        let tasks = queries.map { query in
            Task { try await catalog.search(query, options: SearchOptions(limit: 7, bounds: .none)) }
        }
        for index in stride(from: 0, to: tasks.count, by: 3) { tasks[index].cancel() }
        for (index, task) in tasks.enumerated() {
            switch await task.result {
            case .success(let matches): #expect(matches == alone[index], "query \(index)")
            case .failure(let error): #expect(index % 3 == 0 && error is CancellationError, "query \(index): \(error)")
            }
        }
    }

    @Test func manyImagesAreSearchedInTheirOrder() async throws {
        let fixture = try CatalogFixture(count: 6)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let seeds = (0..<70).map { UInt64($0 * 5 % 6) }
        let found = try await catalog.search(
            matching: seeds.map { SampleImage.blocks(seed: $0) },
            options: SearchOptions(limit: 1, bounds: .none, effort: .prints, crops: .whole))
        #expect(found.map { $0.map(\.id) } == seeds.map { [fixture.id(Int($0))] })
        let none: [PixelBuffer] = []
        #expect(try await catalog.search(matching: none).isEmpty)
    }
}

struct ComputeExecutorTests {
    /// A new thread may run before the one that starts it goes on, and be done with the executor before it, too.
    @Test func everyThreadHasAName() async throws {
        @Sendable func nameOfThisThread() -> String? { Thread.current.name }
        for _ in 0..<2000 {
            let executor = ComputeExecutor(threads: 1)
            #expect(try await executor.compute { _ in nameOfThisThread() } == "lookalike-1")
        }
    }

    @Test func noMoreJobsRunAtOnceThanThereAreThreads() async throws {
        let executor = ComputeExecutor(threads: 3)
        let running = Running()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask(executorPreference: executor) {
                    running.begin()
                    for _ in 0..<1000 { sched_yield() }
                    running.end()
                }
            }
        }
        #expect(running.total == 200 && running.most <= 3)
    }

    private final class Running: Sendable {
        private let counts = Mutex((now: 0, most: 0, total: 0))
        var total: Int { counts.withLock(\.total) }
        var most: Int { counts.withLock(\.most) }

        func begin() {
            counts.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
        }

        func end() {
            counts.withLock {
                $0.now -= 1
                $0.total += 1
            }
        }
    }

    /// From tasks on the threads themselves, and from others; alone, and under load.
    @Test func sharedWorkIsDoneOncePerItem() async throws {
        let executor = ComputeExecutor(threads: 4)
        @Sendable func work(_ count: Int) -> Bool {
            let counts = (0..<count).map { _ in Atomic64() }
            let results = concurrentMap(count, threads: 8) { index in
                counts[index].increase()
                // Within shared work, more of it.
                return concurrentMap(3, threads: 3) { $0 * index }.reduce(0, +)
            }
            return results == (0..<count).map { $0 * 3 } && counts.allSatisfy { $0.value == 1 }
        }
        #expect(work(1000))
        for tasks in [1, 2, 50] {
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<tasks {
                    group.addTask(executorPreference: executor) { (0..<20).allSatisfy { work($0 * 7) } }
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    private final class Atomic64: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .relaxed) }
        func increase() { count.wrappingAdd(1, ordering: .relaxed) }
    }
}
