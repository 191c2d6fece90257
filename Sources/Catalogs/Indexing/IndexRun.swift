/// An index run that is under way: the reports after each commit.
///
/// Iterating does the work. It ends when everything is searchable. A run that is no longer iterated, or whose task is
/// cancelled, stops; what was committed stays, and is searchable when the catalog is next opened or indexed.
///
/// ```swift
/// for try await report in indexer.index(items) { show(report.processed) }
/// ```
///
/// Iterating throws ``CatalogError`` if the catalog cannot be written, `CancellationError`, and the errors of the
/// items' sequence; what came before such an error is searchable.
public struct IndexRun<Items: AsyncSequence>: AsyncSequence where Items.Element == IndexItem {
    public typealias Element = IndexReport
    public typealias Failure = any Error

    let indexer: CatalogIndexer
    let items: Items
    let jobs: Int?

    /// Does all of the run, and returns its last report.
    public func report() async throws -> IndexReport {
        var last = IndexReport()
        for try await report in self { last = report }
        return last
    }

    /// Does the work of the run, a commit per element.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let indexer: CatalogIndexer
        private let jobs: Int?
        private var items: Items.AsyncIterator
        /// Read, and left for the next commit.
        private var next: IndexItem?
        private var report = IndexReport()
        /// What ended the sequence, after the items that are committed next.
        private var failure: (any Error)?
        private var isAtEnd = false

        init(_ run: IndexRun) {
            indexer = run.indexer
            jobs = run.jobs
            items = run.items.makeAsyncIterator()
        }

        /// Commits the next items and returns the report so far; nil when everything is searchable.
        public mutating func next() async throws -> IndexReport? {
            guard !isAtEnd else { return nil }
            let chunk = failure == nil ? await nextChunk() : []
            guard !chunk.isEmpty else {
                isAtEnd = true
                try await indexer.finish()
                if let failure { throw failure }
                return nil
            }
            report = try await indexer.index(chunk: chunk, jobs: jobs, after: report)
            return report
        }

        private mutating func nextChunk() async -> [IndexItem] {
            var chunk = IndexChunk(limit: indexer.chunkSize(jobs: jobs))
            if let item = next { _ = chunk.add(item) }
            next = nil
            do {
                while !chunk.isFull, let item = try await items.next() {
                    guard chunk.add(item) else {
                        next = item
                        break
                    }
                }
            } catch {
                failure = error
            }
            return chunk.items
        }
    }

    /// Begins the run.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension IndexRun: Sendable where Items: Sendable {}

/// Items of an array as an asynchronous sequence.
public struct IndexItemList: AsyncSequence, Sendable {
    public typealias Element = IndexItem
    public typealias Failure = Never

    let items: [IndexItem]

    /// Takes the items of the array in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var items: IndexingIterator<[IndexItem]>

        /// The next item.
        public mutating func next() async -> IndexItem? { items.next() }
    }

    /// From the first item on.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(items: items.makeIterator()) }
}

/// Items that are decoded, embedded and committed together; each id comes once.
struct IndexChunk {
    /// The number of images, or of times as many prints: these take little memory and time, and a commit costs both.
    let limit: Int
    private(set) var items: [IndexItem] = []
    private var ids: Set<ExactText> = []
    private var cost = 0

    private static let printsPerImage = 64

    init(limit: Int) { self.limit = limit }

    var isFull: Bool { cost >= limit * Self.printsPerImage }

    /// False for an item that has to wait for the next chunk: this one is full, or has an item of the same id, which
    /// the later one replaces.
    mutating func add(_ item: IndexItem) -> Bool {
        guard !isFull, ids.insert(ExactText(item.entity.id)).inserted else { return false }
        items.append(item)
        if case .print = item.image { cost += 1 } else { cost += Self.printsPerImage }
        return true
    }
}
