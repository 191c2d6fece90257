#if Service
import CommandProcess
public import Foundation
public import Logging
import Metrics
public import PrometheusMetrics
import ServiceLifecycle
import UnixSignals

extension LookalikeService {
    /// Serves as a program of its own: prints the URL to standard output when it listens, and ends at SIGTERM or SIGINT
    /// after the requests that it has; a second signal ends it at once. SIGHUP reads the API keys and the certificate
    /// of HTTPS again, and so does a change of their files.
    ///
    /// The limit of open files is raised to the largest that the system allows, and connections and open catalogs are
    /// limited by it.
    ///
    /// - Parameters:
    ///   - keyFile: the file of the API keys, if there is one.
    ///   - keys: reads the API keys.
    /// - Throws: ``ServiceError`` for a configuration that cannot run.
    @_spi(Service) public static func runProcess(
        _ given: ServiceConfiguration, registry: PrometheusRegistry = PrometheusRegistry(), logger: Logger,
        keyFile: URL? = nil, keys: @escaping @Sendable () throws -> KeyRing
    ) async throws {
        var configuration = given
        IdleMemory.limitAllocator()
        try OpenFileLimit.raise().check(&configuration)
        let limits = configuration.limits
        logger.notice(
            "limits",
            metadata: [
                "memory": .stringConvertible(limits.memory), "program": .stringConvertible(limits.shares.program),
                "bodies": .stringConvertible(limits.bodyBytesInFlight), "body": .stringConvertible(limits.bodyBytes),
                "images": .stringConvertible(limits.searches * limits.shares.image),
                "largeImages": .stringConvertible(limits.shares.largeImages),
                "undo": .stringConvertible(limits.shares.undo), "searches": .stringConvertible(limits.searches),
                "openCatalogs": .stringConvertible(limits.openCatalogs),
                "connections": .stringConvertible(limits.connections),
            ])
        let scheme = configuration.tls == nil ? "http" : "https"
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        let service = try LookalikeService(configuration, registry: registry, logger: logger) { port in
            do {
                try StandardOutput.printUnbuffered("\(scheme)://\(host):\(port)/")
            } catch {
                logger.warning("\(error)", metadata: ["port": .stringConvertible(port)])
            }
        } onHealthRunning: {
            logger.notice("health and metrics", metadata: ["port": .stringConvertible($0)])
        }
        let reloading = Reloading(
            logger: logger, registry: registry,
            parts: [
                Reloading.Part(name: "API keys", files: [keyFile].compactMap(\.self)) {
                    try service.replaceKeys(by: try keys())
                }
            ]
                + (configuration.tls.map { files in
                    [
                        Reloading.Part(name: "TLS files", files: [files.certificateChain, files.privateKey]) {
                            try service.reloadTLSFiles()
                        }
                    ]
                } ?? []))
        var group = ServiceGroupConfiguration(services: [service, reloading], logger: logger)
        // A client that still sends a body or reads an answer then is cut off.
        group.maximumGracefulShutdownDuration =
            configuration.drainDelay + configuration.limits.requestTime + .seconds(10)
        let running = ServiceGroup(configuration: group)
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await running.run() }
            tasks.addTask {
                var isFirst = true
                for await _ in signals {
                    if isFirst { await running.triggerGracefulShutdown() } else { service.hurry() }
                    isFirst = false
                }
            }
            try await tasks.next()
            tasks.cancelAll()
        }
    }
}

/// Reads again what operators change while the service runs: at SIGHUP, which ends a program that does not handle it,
/// and when files have changed.
private actor Reloading: Service {
    struct Part: Sendable {
        let name: String
        let files: [URL]
        /// - Throws: if what is there now cannot be used; what was read before is kept then.
        let read: @Sendable () throws -> Void
    }

    private let logger: Logger
    private let registry: PrometheusRegistry
    private let parts: [Part]
    /// The states of each part's files: those that were read, and those that were seen last.
    private var read: [[FolderState?]]
    private var seen: [[FolderState?]]

    private static let interval = Duration.seconds(1)

    init(logger: Logger, registry: PrometheusRegistry, parts: [Part]) {
        self.logger = logger
        self.registry = registry
        self.parts = parts
        read = parts.map(Self.state)
        seen = read
    }

    func run() async throws {
        for part in parts { for result in ["read", "failed"] { count(part, result, 0) } }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
                    await self.reloadAll()
                }
            }
            tasks.addTask {
                await cancelWhenGracefulShutdown {
                    while (try? await Task.sleep(for: Self.interval)) != nil { await self.reloadChanged() }
                }
            }
        }
    }

    private func reloadAll() { for part in parts.indices { reload(part) } }

    private func reloadChanged() {
        for (index, part) in parts.enumerated() {
            let state = Self.state(of: part)
            // A file that is being written has another state the next time.
            if state == seen[index], state != read[index] { reload(index) }
            seen[index] = state
        }
    }

    private func reload(_ index: Int) {
        let part = parts[index]
        read[index] = Self.state(of: part)
        do {
            try part.read()
            count(part, "read", 1)
            logger.notice("\(part.name) were read again")
        } catch {
            count(part, "failed", 1)
            logger.error("\(part.name) stay as they were", metadata: ["error": "\(error)"])
        }
    }

    private func count(_ part: Part, _ result: String, _ more: Int) {
        let labels = [("files", part.name), ("result", result)]
        Counter(label: "lookalike_reloads_total", dimensions: labels, factory: registry).increment(by: more)
    }

    private static func state(of part: Part) -> [FolderState?] { part.files.map { FolderState($0) } }
}

/// The number of files, connections among them, that the process may have open.
private struct OpenFileLimit {
    let count: Int

    /// Raises the limit to the largest that the system allows.
    static func raise() -> OpenFileLimit {
        #if canImport(Darwin)
        let openFiles = RLIMIT_NOFILE
        #else
        let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        var limit = rlimit()
        guard getrlimit(openFiles, &limit) == 0 else { return OpenFileLimit(count: 1024) }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(openFiles, &limit)
        _ = getrlimit(openFiles, &limit)
        return OpenFileLimit(count: Int(clamping: limit.rlim_cur))
    }

    /// For logs, images, health checks and the system's libraries, some of which end the process without; and for
    /// catalogs that are in use although they are no longer kept open: four clients that change twelve catalogs in turn
    /// have up to nine of these, with 10 to 20 files each.
    private static let reserve = 192
    /// A database's files, once for each connection of its pool.
    private static let perCatalog = 16
    private static let fewestConnections = 16

    /// Opens no more catalogs, and accepts no more connections, than there are descriptors for.
    ///
    /// - Throws: ``ServiceError`` if that is too few.
    func check(_ configuration: inout ServiceConfiguration) throws {
        // Half of the rest is for connections, at least.
        let forCatalogs = (count - Self.reserve) / 2
        guard forCatalogs >= max(Self.perCatalog, Self.fewestConnections) else {
            throw ServiceError(
                subject: "the limit of open files",
                reason: "is \(count); the service needs \(Self.reserve + 2 * Self.perCatalog). "
                    + "Raise it with “ulimit -n” or LimitNOFILE.")
        }
        let open = min(configuration.limits.openCatalogs, forCatalogs / Self.perCatalog)
        configuration.limits.openCatalogs = open
        configuration.limits.connections = min(
            configuration.limits.connections, count - Self.reserve - open * Self.perCatalog)
    }
}
#endif
