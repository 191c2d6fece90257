#if Service
import Foundation
import Logging
import Lookalike
import Metrics
import PrometheusMetrics
import Synchronization

/// What all requests share.
final class ServiceState: Sendable {
    let configuration: ServiceConfiguration
    /// What paths in answers start with.
    let base: String
    let links: ThumbnailLinks
    let store: CatalogStore
    let snapshots: SnapshotStore
    let queries = QueryCache()
    let undos: UndoCache
    let bodies: RequestBodyReader
    let imagePool: WorkPool
    /// Where large images are decoded, on threads of their own: they take seconds, and a decoder cannot be interrupted.
    let largePool: WorkPool
    private let largeExecutor: ComputeExecutor
    /// The pixels beyond which an image is large: half a second to several of a processor.
    private let largeBytes: Int
    /// The memory of large images, and of those that are being indexed.
    private let largeMemory: MemoryLane
    let idle = IdleMemory()
    let rates = RateLimiter()
    let connections: ConnectionTable
    /// Ends the requests in progress and what is left of the delay; nil while the service does not run.
    let hurrying = Mutex<(@Sendable () -> Void)?>(nil)
    let printPool: WorkPool
    let tasks: TaskStore
    /// The bytes that the lines of tasks take on disk.
    let taskBytes: ByteBudget
    let webhook: WebhookQueue?
    let writePool: WorkPool
    let metrics: ServiceMetrics
    let registry: PrometheusRegistry
    let logger: Logger
    let readiness = Readiness()
    let keys: KeyStore

    init(
        _ configuration: ServiceConfiguration, links: ThumbnailLinks, registry: PrometheusRegistry, logger: Logger
    ) {
        metrics = ServiceMetrics(registry)
        let limits = configuration.limits
        let shares = limits.shares
        largeBytes = shares.image
        largeMemory = MemoryLane(size: shares.largeImages)
        undos = UndoCache(mostBytes: shares.undo)
        Catalog.limitRowCache(to: shares.rows)
        self.configuration = configuration
        base = configuration.base
        self.links = links
        keys = KeyStore(configuration.keys)
        self.registry = registry
        self.logger = logger
        let webhook = configuration.webhook.map {
            WebhookQueue(
                $0, folder: configuration.catalogs.appendingPathComponent(".webhooks"), registry: registry,
                logger: logger)
        }
        self.webhook = webhook
        store = CatalogStore(
            root: configuration.catalogs, logger: logger, writerIdleTime: limits.writerIdleTime,
            mostOpen: limits.openCatalogs, decoding: limits.decoding, imageMemory: largeMemory,
            remotes: Dictionary(
                configuration.remotes.compactMap { name, open in CatalogName(name).map { ($0, open) } }
            ) { first, _ in first },
            willChange: { webhook?.catalogWillChange($0) ?? { _ in } })
        snapshots = SnapshotStore(store: store)
        connections = ConnectionTable(limit: limits.connections)
        bodies = RequestBodyReader(
            limit: limits.bodyBytes, budget: ByteBudget(limit: limits.bodyBytesInFlight, body: limits.bodyBytes),
            idleTime: limits.idleTime)
        imagePool = WorkPool(
            places: limits.searches, queueLimit: limits.queuedSearches, deadline: limits.queueTime,
            metrics: PoolMetrics(pool: "image", factory: registry))
        // Half of the machine is left to others, however many large images come.
        let large = max(1, limits.searches / 2)
        largePool = WorkPool(
            places: large, queueLimit: limits.queuedSearches, deadline: min(limits.requestTime, limits.queueTime * 10),
            metrics: PoolMetrics(pool: "large", factory: registry))
        largeExecutor = ComputeExecutor(threads: large)
        printPool = WorkPool(
            places: limits.printSearches, queueLimit: limits.queuedSearches, deadline: limits.queueTime,
            metrics: PoolMetrics(pool: "print", factory: registry))
        // A commit takes many writes at once; each waits for the commit before.
        writePool = WorkPool(
            places: 512, queueLimit: limits.queuedWrites, deadline: limits.requestTime,
            metrics: PoolMetrics(pool: "write", factory: registry))
        taskBytes = ByteBudget(limit: limits.taskBytes, body: limits.taskBytes)
        tasks = TaskStore(
            root: configuration.catalogs.appendingPathComponent(".tasks"),
            metrics: PoolMetrics(pool: "task", factory: registry), logger: logger,
            onEnd: { [metrics] record in
                metrics.task(record.status)
                webhook?.send("task.ended", record)
            })
    }

    /// The bytes that are left on the disk of the catalogs, and whether they are fewer than its reserve.
    var disk: (available: Int?, isFull: Bool) {
        let available = DiskSpace.available(at: configuration.catalogs)
        return (available, available.map { $0 < configuration.limits.diskReserve } ?? false)
    }

    /// Refuses what makes the catalogs larger when the disk has no more left than its reserve, or cannot be written.
    ///
    /// - Throws: ``Problem``.
    func checkDisk() throws(Problem) {
        // A folder that is missing, or no folder, is another error.
        if access(configuration.catalogs.path, W_OK) != 0, [EACCES, EPERM, EROFS].contains(errno) {
            throw Problem(
                .readOnly,
                "The service may only read the folder of its catalogs: nothing in it can be changed, and no snapshot be "
                    + "made, which is written there first.")
        }
        let disk = disk
        guard disk.isFull, let left = disk.available else { return }
        throw Problem(
            .diskFull,
            "The disk of the catalogs has \(left >> 20) MiB left, and "
                + "\(configuration.limits.diskReserve >> 20) MiB are kept for removals; "
                + "nothing was changed.")
    }

    var batches: BatchWriter { BatchWriter(service: self) }

    /// Decodes an image when there is a place for it, and runs `body` with it in that place.
    ///
    /// A large image takes a place in the lane of large ones, and then one of all images besides.
    ///
    /// - Parameters:
    ///   - client: who sent the image.
    ///   - isPatient: whether it waits for a place however long it takes.
    ///   - admitted: called when there is a place to decode it.
    /// - Throws: `ImageError`; ``Problem`` if there is no place in time, or if it takes too long to decode. A decoder
    ///   cannot be interrupted: the thread goes on until it has finished, and the limits on pixels and scans say how
    ///   long that may be.
    func withImage<Answer>(
        _ data: Data, options: DecodingOptions, for client: WorkClient, isPatient: Bool = false,
        timings: StageTimings? = nil, admitted: () -> Void = {}, _ body: (PixelBuffer) async throws -> Answer
    ) async throws -> Answer {
        let cost = ImageCost(of: data, limits: options).bytes
        guard cost > largeBytes else {
            return try await imagePool.run(for: client, isPatient: isPatient) {
                admitted()
                return try await body(try await decode(data, options: options, on: .shared, timings: timings))
            }
        }
        return try await largePool.run(for: client, isPatient: isPatient) {
            try await largeMemory.lending(cost) {
                admitted()
                let image = try await decode(data, options: options, on: largeExecutor, timings: timings)
                // What was decoded is in memory until there is a place.
                return try await imagePool.run(for: client, isPatient: true) { try await body(image) }
            }
        }
    }

    private func decode(
        _ data: Data, options: DecodingOptions, on executor: ComputeExecutor, timings: StageTimings?
    ) async throws -> PixelBuffer {
        let limit = configuration.limits.decodeTime
        // The thread measures its own time, so that others have no part in it.
        let (image, time) = try await computing(on: executor) {
            if executor !== ComputeExecutor.shared { ComputeThread.yieldToOthers() }
            let start = ComputeThread.time
            return (try PixelBuffer(decoding: data, named: "image", options: options), ComputeThread.time - start)
        }
        timings?.add(time, to: .decode)
        if time > limit { throw Problem(.decodeTime, "The image took longer than \(limit) to decode.") }
        return image
    }

    /// Checks that an image can be decoded within the limits, before it is queued to be indexed.
    ///
    /// - Throws: `ImageError`, and ``Problem`` if it takes too long.
    func checkImage(_ data: Data, for client: WorkClient) async throws {
        var options = configuration.limits.decoding
        // The decoder makes the smallest image that it can of a JPEG file.
        options.neededSize = (1, 1)
        try await withImage(data, options: options, for: client, isPatient: true) { _ in }
    }

    /// Parses a body: a small one at once, and a large one when there is a place for it, so that it keeps no other
    /// request waiting.
    ///
    /// - Parameter isPatient: whether it waits for a place however long it takes.
    func parsing<Result: Sendable>(
        _ body: Data, for client: WorkClient, isPatient: Bool = false, _ parse: @Sendable (Data) throws -> Result
    ) async throws -> Result {
        if body.count <= 64 << 10 { return try parse(body) }
        return try await imagePool.run(for: client, isPatient: isPatient) { try await computing { try parse(body) } }
    }
}

/// Whether requests should be sent to this process.
@_spi(Service) public final class Readiness: Sendable {
    @_spi(Service) public enum State: String, Sendable { case starting, ready, stopping, failed }

    private let state = Mutex(State.starting)

    @_spi(Service) public init() {}

    @_spi(Service) public var current: State { state.withLock { $0 } }

    /// Sets the state. A service that is stopped while it starts does not get ready.
    @_spi(Service) public func set(_ new: State) { state.withLock { if new != .ready || $0 == .starting { $0 = new } } }
}
#endif
