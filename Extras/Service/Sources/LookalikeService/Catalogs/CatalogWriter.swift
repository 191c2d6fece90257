#if Service
import Foundation
import Lookalike

/// Writes to a catalog. Entities that are put while others are being written are written together, in one commit.
///
/// The first change opens the catalog for writing, and some time after the last one it is closed again, so that other
/// processes may write to it.
actor CatalogWriter {
    private enum Change {
        /// The answer has the problem of each item.
        case put([IndexItem], CheckedContinuation<[IndexProblem?], any Error>)
        case other(@Sendable (CatalogIndexer) async throws -> Void, CheckedContinuation<Void, any Error>)

        func fail(_ error: any Error) {
            switch self {
            case .put(_, let continuation): continuation.resume(throwing: error)
            case .other(_, let continuation): continuation.resume(throwing: error)
            }
        }
    }

    nonisolated let url: URL
    private let idleTime: Duration
    private let decoding: DecodingOptions
    private let imageMemory: MemoryLane
    /// Called before something is written; what it returns, when nothing more waits, with whether something was.
    private let willWrite: @Sendable () -> @Sendable (Bool) -> Void
    /// Changes whenever something is written.
    private var activity = 0
    private var indexer: CatalogIndexer?
    private var waiting: [Change] = []
    private var isWriting = false
    private(set) var isClosed = false
    private var idle: [CheckedContinuation<Void, Never>] = []

    /// Why a change was refused: the catalog is being replaced or removed, or the service ends.
    struct Closed: Error {}

    /// A commit with as many entities takes no more puts.
    private static let largestBatch = 512

    init(
        url: URL, indexer: CatalogIndexer? = nil, idleTime: Duration = .seconds(5),
        decoding: DecodingOptions = DecodingOptions(), imageMemory: MemoryLane = MemoryLane(size: .max),
        willWrite: @escaping @Sendable () -> @Sendable (Bool) -> Void = { { _ in } }
    ) {
        self.url = url
        self.decoding = decoding
        self.imageMemory = imageMemory
        self.willWrite = willWrite
        self.indexer = indexer
        self.idleTime = idleTime
        if indexer != nil { Task { await self.releaseWhenIdle() } }
    }

    /// Adds an entity, or replaces it. It is durable and searchable when this returns.
    ///
    /// - Throws: `IndexProblem` if the image cannot be used, and `CatalogError`.
    func put(_ item: IndexItem) async throws {
        if let problem = try await put([item])[0] { throw problem }
    }

    /// Adds entities, or replaces them, in one commit. They are durable and searchable when this returns.
    ///
    /// - Returns: for each item why it was not written, or nil.
    func put(_ items: [IndexItem]) async throws -> [IndexProblem?] {
        try await enqueue { .put(items, $0) }
    }

    /// Changes the catalog while nothing else is changed.
    ///
    /// - Returns: what `body` returns.
    func change<Answer: Sendable>(
        _ body: @escaping @Sendable (CatalogIndexer) async throws -> Answer
    ) async throws -> Answer {
        let answer = FirstOutcome<Answer>()
        try await enqueue { (continuation: CheckedContinuation<Void, any Error>) in
            .other({ indexer in answer.set(.success(try await body(indexer))) }, continuation)
        }
        return try await answer.value
    }

    /// Lets other processes write until the next change, unless something is being written.
    ///
    /// - Returns: whether other processes may write.
    func releaseIfIdle() -> Bool {
        guard !isWriting, !isClosed else { return false }
        indexer = nil
        return true
    }

    /// Lets other processes write again after ``closeForGood()``.
    func release() { indexer = nil }

    /// Ends writing: refuses changes, and waits for those that were accepted.
    func close() async {
        isClosed = true
        if isWriting { await withCheckedContinuation { idle.append($0) } }
    }

    /// Ends writing, and keeps other processes from writing until the object is gone.
    ///
    /// - Returns: why the catalog cannot be opened; nil if it can. Changes are refused all the same: they would be
    ///   written to what takes its place.
    /// - Throws: `CatalogError` if another process is, or may be, writing; changes are accepted again then.
    func closeForGood() async throws -> (any Error)? {
        await close()
        do {
            let url = url
            // The indexer takes the right to write before it reads what may be damaged: a process that opened the
            // catalog earlier may still write. Local features do not matter, since nothing is written here.
            if indexer == nil {
                indexer = try await computing { try CatalogIndexer(at: url, localFeatures: false) }
            }
            return nil
        } catch {
            let isLocked =
                switch (error as? CatalogError)?.reason {
                // Without the lock nobody knows whether another process is writing.
                case .busy, .unwritable: false
                default: !(error is CancellationError)
                }
            guard isLocked else {
                isClosed = false
                throw error
            }
            return error
        }
    }

    private func enqueue<Answer>(
        _ change: (CheckedContinuation<Answer, any Error>) -> Change
    ) async throws -> Answer {
        guard !isClosed else { throw Closed() }
        return try await withCheckedThrowingContinuation { continuation in
            waiting.append(change(continuation))
            guard !isWriting else { return }
            isWriting = true
            // The task is not a child of the request: an accepted change is written even if its client goes away.
            Task { await write() }
        }
    }

    private func write() async {
        let ended = willWrite()
        var hasWritten = false
        while !waiting.isEmpty {
            let batch = nextBatch()
            do {
                let indexer = try await openIndexer()
                if case .other(let body, let continuation) = batch[0] {
                    let outcome = await Result { try await body(indexer) }
                    if case .success = outcome { hasWritten = true }
                    continuation.resume(with: outcome)
                } else {
                    try await write(batch, indexer)
                    hasWritten = true
                }
            } catch {
                for change in batch { change.fail(error) }
            }
        }
        isWriting = false
        ended(hasWritten)
        activity += 1
        for continuation in idle { continuation.resume() }
        idle = []
        releaseWhenIdle()
    }

    /// Lets other processes write unless something is written before the idle time ends.
    private func releaseWhenIdle() {
        let last = activity
        Task {
            try await Task.sleep(for: idleTime)
            if activity == last, !isWriting, !isClosed { indexer = nil }
        }
    }

    /// The first change, with the puts that follow if it is one.
    private func nextBatch() -> [Change] {
        var (count, itemCount) = (0, 0)
        while count < waiting.count, itemCount < Self.largestBatch, case .put(let items, _) = waiting[count] {
            count += 1
            itemCount += items.count
        }
        defer { waiting.removeFirst(max(1, count)) }
        return Array(waiting.prefix(max(1, count)))
    }

    /// Writes puts in one commit.
    ///
    /// - Throws: an error that concerns all puts; no continuation has been resumed then.
    private func write(_ batch: [Change], _ indexer: CatalogIndexer) async throws {
        // The origin tells which item a problem is of.
        var items: [IndexItem] = []
        for case .put(let put, _) in batch {
            for var item in put {
                item.origin = "\(items.count)"
                items.append(item)
            }
        }
        let report = try await indexing(items, indexer)
        let problems = Dictionary(report.problems.map { ($0.subject, $0) }, uniquingKeysWith: { first, _ in first })
        var start = 0
        for case .put(let put, let continuation) in batch {
            continuation.resume(returning: (start..<(start + put.count)).map { problems["\($0)"] })
            start += put.count
        }
    }

    /// Decodes as many images at once as their memory has space for.
    private func indexing(_ items: [IndexItem], _ indexer: CatalogIndexer) async throws -> IndexReport {
        let costs = items.flatMap(\.images).map { image in
            if case .data(let data) = image { ImageCost(of: data, limits: decoding).bytes } else { 0 }
        }
        let (jobs, bytes) = imageMemory.parts(
            of: costs.max() ?? 0, atMost: ComputeExecutor.indexing.threadCount)
        return try await imageMemory.lending(bytes) { try await indexer.run(over: items, jobs: jobs).report() }
    }

    private func openIndexer() async throws -> CatalogIndexer {
        if let indexer { return indexer }
        let url = url
        let opened = try await opening(url) {
            // Another process may have added local features since the catalog was opened here.
            let hasLocalFeatures = try await computing { try Catalog(at: url).hasLocalFeatures }
            return try await computing {
                try CatalogIndexer(
                    at: url, localFeatures: hasLocalFeatures, limits: decoding, executor: ComputeExecutor.indexing)
            }
        }
        indexer = opened
        return opened
    }
}
#endif
