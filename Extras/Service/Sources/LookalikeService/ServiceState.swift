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
    let store: CatalogStore
    let queries = QueryCache()
    let bodies: RequestBodyReader
    let imagePool: WorkPool
    let printPool: WorkPool
    let writePool: WorkPool
    let metrics: ServiceMetrics
    let registry: PrometheusRegistry
    let logger: Logger
    let readiness = Readiness()
    let keys: KeyStore

    init(_ configuration: ServiceConfiguration, registry: PrometheusRegistry, logger: Logger) {
        let limits = configuration.limits
        self.configuration = configuration
        keys = KeyStore(configuration.keys)
        self.registry = registry
        self.logger = logger
        store = CatalogStore(
            root: configuration.catalogs, logger: logger, writerIdleTime: limits.writerIdleTime,
            mostOpen: limits.openCatalogs)
        bodies = RequestBodyReader(
            limit: limits.bodyBytes, budget: ByteBudget(limit: limits.bodyBytesInFlight),
            idleTime: limits.idleTime)
        metrics = ServiceMetrics(registry)
        imagePool = WorkPool(
            places: limits.searches, queueLimit: limits.queuedSearches, deadline: limits.queueTime,
            metrics: PoolMetrics(pool: "image", factory: registry))
        printPool = WorkPool(
            places: limits.printSearches, queueLimit: limits.queuedSearches, deadline: limits.queueTime,
            metrics: PoolMetrics(pool: "print", factory: registry))
        // A commit takes many writes at once; each waits for the commit before.
        writePool = WorkPool(
            places: 512, queueLimit: limits.queuedWrites, deadline: limits.requestTime,
            metrics: PoolMetrics(pool: "write", factory: registry))
    }

    /// Decodes an image on the threads for computing.
    ///
    /// - Throws: `ImageError`; ``Problem`` if it takes longer than the limit. A decoder cannot be interrupted: the
    ///   thread goes on until it has finished, and the limits on pixels and scans say how long that may be.
    func decode(_ data: Data, options: DecodingOptions, timings: StageTimings? = nil) async throws -> PixelBuffer {
        let limit = configuration.limits.decodeTime
        // The thread measures, so that the time does not include the wait for a thread.
        let (image, time) = try await computing {
            let start = ContinuousClock.now
            return (try PixelBuffer(decoding: data, named: "image", options: options), ContinuousClock.now - start)
        }
        timings?.add(time, to: .decode)
        if time > limit { throw Problem(.decodeTime, "The image took longer than \(limit) to decode.") }
        return image
    }

    /// Checks that an image can be decoded within the limits, before it is queued to be indexed.
    ///
    /// - Throws: `ImageError`, and ``Problem`` if it takes too long.
    func checkImage(_ data: Data) async throws {
        var options = configuration.limits.decoding
        // The decoder makes the smallest image that it can of a JPEG file.
        options.neededSize = (1, 1)
        _ = try await decode(data, options: options)
    }
}

/// Whether requests should be sent to this process.
@_spi(Service) public final class Readiness: Sendable {
    @_spi(Service) public enum State: String, Sendable { case starting, ready, stopping }

    private let state = Mutex(State.starting)

    @_spi(Service) public init() {}

    @_spi(Service) public var current: State { state.withLock { $0 } }

    /// Sets the state. A service that is stopped while it starts does not get ready.
    @_spi(Service) public func set(_ new: State) { state.withLock { if new != .ready || $0 == .starting { $0 = new } } }
}
#endif
