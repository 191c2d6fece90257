import CatalogEntities
import Compute

/// An index run that is under way: the reports after each commit.
///
/// Iterating does the work. It ends when everything is searchable. A run that is no longer iterated, or whose task is
/// cancelled, stops; what was committed stays, and is searchable when the catalog is next opened or indexed.
///
/// ```swift
/// for try await report in indexer.run(over: items) { show(report.processed) }
/// ```
///
/// Iterating throws ``CatalogError`` if the catalog cannot be written, `CancellationError`, and the errors of the
/// items' sequence; what came before such an error is searchable.
public struct IndexRun<Items: AsyncSequence>: AsyncSequence {
    public typealias Element = IndexReport
    public typealias Failure = any Error

    let indexer: CatalogIndexer
    let items: Items
    /// An item of the sequence, or what is wrong with it.
    let entry: @Sendable (Items.Element) -> Result<IndexItem, IndexProblem>
    let jobs: Int?

    /// Does all of the run, and returns its last report.
    public func report() async throws -> IndexReport {
        var last = IndexReport()
        for try await report in self { last = report }
        return last
    }

    /// Does the work of the run, a commit per element.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var items: Items.AsyncIterator
        private let entry: @Sendable (Items.Element) -> Result<IndexItem, IndexProblem>
        private var pipeline: IndexPipeline
        private let indexer: CatalogIndexer
        /// What ended the sequence, after the items that are committed next.
        private var failure: (any Error)?
        private var state = State.new

        private enum State { case new, reading, flushing, ended }

        init(_ run: IndexRun) {
            items = run.items.makeAsyncIterator()
            entry = run.entry
            // A source may be slow, and its items are searchable only when they are committed.
            pipeline = IndexPipeline(indexer: run.indexer, jobs: run.jobs, imagesPerJob: 8)
            indexer = run.indexer
        }

        /// Commits the next items and returns the report so far; nil when everything is searchable.
        public mutating func next() async throws -> IndexReport? {
            if state == .new {
                try await compute { pipeline in try pipeline.begin() }
                state = .reading
            }
            while state == .reading {
                guard let entry = await nextEntry() else {
                    state = .flushing
                    break
                }
                let item: IndexItem
                switch entry {
                case .success(let usable): item = usable
                case .failure(let problem):
                    pipeline.add(problem)
                    continue
                }
                if pipeline.hasRoom(for: item) {
                    _ = try pipeline.add(item)
                } else if try await compute({ pipeline in try pipeline.add(item) }) {
                    return pipeline.report
                }
            }
            if state == .flushing {
                if try await compute({ pipeline in try pipeline.flush() }) { return pipeline.report }
                state = .ended
                try await compute { pipeline in _ = try pipeline.end() }
                if let failure { throw failure }
            }
            return nil
        }

        private mutating func nextEntry() async -> Result<IndexItem, IndexProblem>? {
            do {
                return try await items.next().map(entry)
            } catch {
                failure = error
                return nil
            }
        }

        /// Works on the indexer's executor. Other changes come between two steps.
        private mutating func compute<Result: Sendable>(
            _ body: @Sendable (inout IndexPipeline) throws -> Result
        ) async throws -> Result {
            let (result, changed) = try await indexer.changing { [pipeline] in
                var pipeline = pipeline
                return (try body(&pipeline), pipeline)
            }
            pipeline = changed
            return result
        }
    }

    /// Begins the run.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension IndexRun: Sendable where Items: Sendable {}
