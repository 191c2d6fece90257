import Foundation
import Lookalike

/// Writes to a catalog. Entities that are put while others are being written are written together, in one commit.
///
/// The catalog is opened for writing with the first change, so that other processes may write to one that is only
/// searched here.
actor CatalogWriter {
    private enum Change {
        case put(IndexItem, CheckedContinuation<Void, any Error>)
        case other(@Sendable (CatalogIndexer) async throws -> Void, CheckedContinuation<Void, any Error>)

        var continuation: CheckedContinuation<Void, any Error> {
            switch self {
            case .put(_, let continuation), .other(_, let continuation): continuation
            }
        }
    }

    private let url: URL
    private var indexer: CatalogIndexer?
    private var waiting: [Change] = []
    private var isWriting = false
    private var isClosed = false
    private var idle: [CheckedContinuation<Void, Never>] = []
    /// Incremented with every change.
    private(set) var changeCount = 0

    /// Entities that are written in one commit at most.
    private static let largestBatch = 512

    init(url: URL, indexer: CatalogIndexer? = nil) {
        self.url = url
        self.indexer = indexer
    }

    /// Adds an entity, or replaces it. It is durable and searchable when this returns.
    ///
    /// - Throws: `IndexProblem` if the image cannot be used, and `CatalogError`.
    func put(_ item: IndexItem) async throws {
        try await enqueue { .put(item, $0) }
    }

    /// Replaces the metadata of an entity.
    func update(_ entity: CatalogEntity) async throws {
        try await enqueue { .other({ try await $0.update(entity) }, $0) }
    }

    /// Removes an entity.
    func remove(_ id: String) async throws {
        try await enqueue { .other({ try await $0.remove(id) }, $0) }
    }

    /// Ends writing: refuses changes, and waits for those that were accepted.
    func close() async {
        isClosed = true
        if isWriting { await withCheckedContinuation { idle.append($0) } }
    }

    /// Ends writing, and keeps other processes from writing until the object is gone.
    ///
    /// - Throws: `CatalogError` if another process is writing; changes are accepted again then.
    func closeForGood() async throws {
        await close()
        do {
            _ = try await openIndexer()
        } catch {
            isClosed = false
            throw error
        }
    }

    private func enqueue(_ change: (CheckedContinuation<Void, any Error>) -> Change) async throws {
        guard !isClosed else { throw Problem(.unknownCatalog, "The catalog has been removed or replaced.") }
        try await withCheckedThrowingContinuation { continuation in
            waiting.append(change(continuation))
            guard !isWriting else { return }
            isWriting = true
            // Not a child of the request: what is accepted is written, also if its client goes away.
            Task { await write() }
        }
    }

    private func write() async {
        while !waiting.isEmpty {
            let batch = nextBatch()
            do {
                let indexer = try await openIndexer()
                if case .other(let body, let continuation) = batch[0] {
                    continuation.resume(with: await Result { try await body(indexer) })
                } else {
                    try await write(batch, indexer)
                }
            } catch {
                for change in batch { change.continuation.resume(throwing: error) }
            }
            changeCount += 1
        }
        isWriting = false
        for continuation in idle { continuation.resume() }
        idle = []
    }

    /// The first change, with the puts that follow if it is one.
    private func nextBatch() -> [Change] {
        var count = 0
        while count < min(waiting.count, Self.largestBatch), case .put = waiting[count] { count += 1 }
        defer { waiting.removeFirst(max(1, count)) }
        return Array(waiting.prefix(max(1, count)))
    }

    /// - Throws: an error that concerns all; no continuation has been resumed then.
    private func write(_ batch: [Change], _ indexer: CatalogIndexer) async throws {
        // The origin tells which item a problem is of.
        var items: [IndexItem] = []
        for case .put(var item, _) in batch {
            item.origin = "\(items.count)"
            items.append(item)
        }
        let report = try await indexer.run(over: items).report()
        let problems = Dictionary(report.problems.map { ($0.origin, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, change) in batch.enumerated() {
            if let problem = problems["\(index)"] {
                change.continuation.resume(throwing: problem)
            } else {
                change.continuation.resume()
            }
        }
    }

    private func openIndexer() async throws -> CatalogIndexer {
        if let indexer { return indexer }
        let url = url
        let hasLocalFeatures = try await computing { try Catalog(at: url).hasLocalFeatures }
        let opened = try await computing { try CatalogIndexer(at: url, localFeatures: hasLocalFeatures) }
        indexer = opened
        return opened
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
