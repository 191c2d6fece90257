package import Compute
import Synchronization
package import VectorSearch

/// Joins the scans of concurrent queries into one pass over the matrix.
///
/// A scan reads all prints, and a pass for many queries reads them once: with 64 searches in flight it takes a fifth of
/// the time of as many scans. A query waits for others only if more searches are in flight than there are threads. It
/// would wait for a thread then anyway, so a lone query is never slower. The results are bit-identical.
package final class JoinedScans: Sendable {
    private struct Request: Sendable {
        let matrix: PrintMatrix
        /// What has the matrix: scans of the same one are joined.
        let owner: ObjectIdentifier
        let queries: [[Float]]
        let k: Int
        /// Set by the pass, or by the cancellation of the search.
        let neighbors = FirstOutcome<[Neighbor]>()
    }

    private struct State {
        var waiting: [Request] = []
        /// Whether a pass will take what waits.
        var isPassDue = false
    }

    private let state = Mutex(State())
    private let searchCount = Atomic<Int>(0)
    /// Passes that served several searches.
    let sharedPassCount = Atomic<Int>(0)
    private let executor: any TaskExecutor
    private let threadCount: Int

    /// A matrix with fewer components is scanned in less time than a thread takes to change tasks a few times.
    private static let smallestMatrix = 1 << 22
    /// For longer results, the lower bounds of a pass reject too little.
    private static let largestK = 256
    /// For fewer prints, packing the rows for a pass costs more than it saves: a scan of its own compares all prints of
    /// a query with a row while the row is in the cache.
    private static let fewestForPass = 32
    /// What a pass takes at most: more gain little, and the first would wait for the last.
    private static let requestsPerPass = 64

    init(executor: any TaskExecutor) {
        self.executor = executor
        threadCount = (executor as? ComputeExecutor)?.threadCount ?? availableProcessorCount
    }

    /// Counts a search as in flight while `body` runs.
    func countingSearch<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        searchCount.wrappingAdd(1, ordering: .relaxed)
        defer { searchCount.wrappingSubtract(1, ordering: .relaxed) }
        return try await body()
    }

    /// The `k` rows of the matrix nearest to any of the queries.
    ///
    /// - Parameter owner: what has the matrix, and keeps it.
    /// - Throws: `CancellationError`, at once when the task is cancelled.
    package func nearest(
        toAnyOf queries: [[Float]], k: Int, in matrix: PrintMatrix, of owner: AnyObject,
        cancellation: Cancellation
    ) async throws -> [Neighbor] {
        guard searchCount.load(ordering: .relaxed) > threadCount, k > 0, k <= Self.largestK,
            !queries.isEmpty, matrix.rowCount * matrix.dimension >= Self.smallestMatrix
        else {
            let found = ExactSearch(matrix).nearest(toAnyOf: queries, k: k, cancellation: cancellation)
            try cancellation.check()
            return found
        }
        let request = Request(matrix: matrix, owner: ObjectIdentifier(owner), queries: queries, k: k)
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            add(request)
            return try await request.neighbors.value
        } onCancel: {
            request.neighbors.set(.failure(CancellationError()))
            state.withLock { $0.waiting.removeAll { $0.neighbors === request.neighbors } }
        }
    }

    private func add(_ request: Request) {
        let needsPass = state.withLock { state in
            state.waiting.append(request)
            defer { state.isPassDue = true }
            return !state.isPassDue
        }
        if needsPass { schedulePass() }
    }

    /// At the end of the executor's queue: queries that are there already join.
    private func schedulePass() {
        Task(executorPreference: executor) { self.pass() }
    }

    /// Takes what waits, and answers it.
    private func pass() {
        let (requests, isPassDue) = state.withLock { state in
            let taken = Array(state.waiting.prefix(Self.requestsPerPass))
            state.waiting.removeFirst(taken.count)
            state.isPassDue = !state.waiting.isEmpty
            return (taken, state.isPassDue)
        }
        if isPassDue { schedulePass() }
        // A writer may have replaced the matrix in between.
        for group in Dictionary(grouping: requests, by: \.owner).values { scan(group) }
    }

    private func scan(_ requests: [Request]) {
        guard let first = requests.first else { return }
        let search = ExactSearch(first.matrix)
        let queries = requests.flatMap(\.queries)
        guard queries.count >= Self.fewestForPass else {
            for request in requests {
                request.neighbors.set(.success(search.nearest(toAnyOf: request.queries, k: request.k)))
            }
            return
        }
        if requests.count > 1 { sharedPassCount.wrappingAdd(1, ordering: .relaxed) }
        let found = search.nearest(toEach: queries, k: requests.map(\.k).max() ?? 0)
        var start = 0
        for request in requests {
            let lists = found[start..<(start + request.queries.count)]
            start += request.queries.count
            request.neighbors.set(.success(Self.nearest(of: lists, k: request.k)))
        }
    }

    /// The `k` rows nearest to any query, of the rows nearest to each: a row that is among the first k of all is among
    /// the first k of the query it is nearest to.
    private static func nearest(of lists: ArraySlice<[Neighbor]>, k: Int) -> [Neighbor] {
        var least: [Int: Neighbor] = [:]
        for neighbor in lists.joined() {
            if let known = least[neighbor.row], known.squaredDistance <= neighbor.squaredDistance { continue }
            least[neighbor.row] = neighbor
        }
        return Array(
            least.values.sorted { ($0.squaredDistance, $0.row) < ($1.squaredDistance, $1.row) }.prefix(k))
    }
}
