#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import PrometheusMetrics
public import ServiceLifecycle
import Synchronization

#if TLS
import HummingbirdTLS
#endif

/// Visual search over HTTP: the catalogs below a folder, and a page to try them.
///
/// ```swift
/// let service = try LookalikeService(ServiceConfiguration(catalogs: folder))
/// try await service.run()
/// ```
public struct LookalikeService: Service {
    private let state: ServiceState
    private let logger: Logger
    private let onRunning: @Sendable (Int) async -> Void
    private let onHealthRunning: @Sendable (Int) -> Void
    #if TLS
    /// Nil for HTTP.
    private let identity: TLSIdentity?
    #endif

    /// A service that does not listen yet.
    ///
    /// - Parameters:
    ///   - registry: where its metrics are kept.
    ///   - onRunning: called with the port when the service listens. The service answers requests from then on, and
    ///     opens the catalogs meanwhile; a request for a catalog that is not open yet opens it.
    ///   - onHealthRunning: called with the port of health checks, if there is one, when it can be connected to.
    /// - Throws: ``ServiceError`` for a configuration that cannot run.
    public init(
        _ configuration: ServiceConfiguration, registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger = Logger(label: "lookalike-serve"),
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in },
        onHealthRunning: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws(ServiceError) {
        try configuration.check()
        do {
            try FileManager.default.createDirectory(at: configuration.catalogs, withIntermediateDirectories: true)
        } catch {
            throw ServiceError(
                subject: configuration.catalogs.path, reason: "cannot be made: \(error.localizedDescription)")
        }
        self.logger = logger
        self.onRunning = onRunning
        self.onHealthRunning = onHealthRunning
        #if TLS
        identity = try configuration.tls.map { files throws(ServiceError) in try TLSIdentity(files) }
        #else
        if let files = configuration.tls {
            throw ServiceError(
                subject: files.certificateChain.path, reason: "this program was built without the package's trait TLS")
        }
        #endif
        state = ServiceState(
            configuration, links: try ThumbnailLinks(configuration), registry: registry, logger: logger)
    }

    /// Accepts other API keys from the next request on.
    ///
    /// - Throws: ``ServiceError`` for no keys where there were some: it would let everybody in.
    public func replaceKeys(by keys: KeyRing) throws(ServiceError) {
        guard !keys.isEmpty || state.keys.current.isEmpty else {
            throw ServiceError(subject: "the API keys", reason: "are none; those from before are kept.")
        }
        guard !state.keys.current.isEmpty || keys.isEmpty else {
            throw ServiceError(
                subject: "the API keys",
                reason: "cannot be required from now on: the service was started without any. Start it again.")
        }
        state.keys.replace(by: keys)
    }

    /// Reads the certificate and the key of HTTPS again; connections that come later get them. Without HTTPS nothing
    /// happens.
    ///
    /// - Throws: ``ServiceError`` for files that cannot be used; those from before are kept.
    public func reloadTLSFiles() throws(ServiceError) {
        #if TLS
        try identity?.reload()
        #endif
    }

    /// Answers requests and opens the catalogs until the task is cancelled or the service group shuts down gracefully:
    /// then it answers the requests that it has, takes no more connections, and ends.
    public func run() async throws {
        if state.configuration.keys.isEmpty, state.configuration.remotes.isEmpty {
            logger.warning(
                """
                There are no API keys: everybody who reaches \(state.configuration.host) may change and remove \
                catalogs. “lookalike-serve make-key” makes keys.
                """)
        }
        state.store.removeLeftovers()
        await state.tasks.load()
        state.webhook?.load()
        let outcome: Result<Void, any Error>
        do {
            try await serve()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await state.tasks.close()
        await state.store.close()
        await state.webhook?.close()
        if let folder = state.configuration.temporaryFolder { try? FileManager.default.removeItem(at: folder) }
        do {
            try outcome.get()
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            let (port, health) = (state.configuration.port, state.configuration.healthPort)
            throw ServiceError(
                subject: "--port \(port)" + (health.map { " or --health-port \($0)" } ?? ""),
                reason: error.errnoCode == EACCES
                    ? "is not for everybody: the system lets its administrator alone listen there."
                    : "is taken at \(state.configuration.host) by another program; choose another one.")
        }
    }

    /// Ends a service that is shutting down at once: what is left of the delay is skipped, and requests in progress are
    /// cut off. Changes that were accepted are written.
    public func hurry() { state.hurrying.withLock { $0 }?() }

    private func serve() async throws {
        let state = state
        let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
        var services: [any Service] = [try makeApplication { continuation.yield() }]
        // What starts first ends last.
        if let port = state.configuration.healthPort { services.insert(makeHealthApplication(port: port), at: 0) }
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .error)
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: quiet))
        // A detached task does not see that this one shuts down: the listeners close after the delay.
        let server = Task.detached { try await group.run() }
        let isHurried = Mutex(false)
        state.hurrying.withLock {
            $0 = {
                isHurried.withLock { $0 = true }
                server.cancel()
            }
        }
        defer { state.hurrying.withLock { $0 = nil } }
        let opening = Task {
            // A service that cannot listen leaves the catalogs alone.
            for await _ in listening.prefix(1) {
                await state.tasks.resume(by: state.batches, claiming: state.taskBytes)
                await state.store.openAll()
                state.readiness.set(.ready)
            }
        }
        let closing = Task {
            let time = state.configuration.limits.catalogIdleTime
            let isRemote = !state.configuration.remotes.isEmpty
            var refreshed = ContinuousClock.now
            while true {
                try await Task.sleep(for: isRemote ? min(time / 4, .seconds(2)) : time / 4)
                await state.store.closeUnused(since: .now - time)
                // Somebody may have mended them.
                for name in state.store.failed { _ = try? await state.store.catalog(name) }
                if isRemote, .now - refreshed > .seconds(60) {
                    await state.store.refreshRemotes()
                    refreshed = .now
                }
            }
        }
        let backups = state.configuration.backups.map { backups in
            Task { try await BackupSchedule(backups: backups, service: state).run() }
        }
        let trimming = Task {
            while true {
                try await Task.sleep(for: .seconds(5))
                state.idle.check()
            }
        }
        defer {
            backups?.cancel()
            trimming.cancel()
            opening.cancel()
            closing.cancel()
        }
        let delay = state.configuration.drainDelay
        do {
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await server.value
                } onGracefulShutdown: {
                    state.readiness.set(.stopping)
                    Task.detached {
                        // A balancer sees that the service is stopping, and sends its requests elsewhere.
                        if delay > .zero { try await Task.sleep(for: delay) }
                        await group.triggerGracefulShutdown()
                    }
                }
            } onCancel: {
                server.cancel()
            }
        } catch  where isHurried.withLock({ $0 }) {}
    }

    /// Health and metrics on a port of their own.
    private func makeHealthApplication(port: Int) -> some ApplicationProtocol {
        let router = Router(context: ServiceContext.self)
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: OpenAccess())
        Routes(service: state).addHealth(to: router)
        return Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(state.configuration.host, port: port)),
            onServerRunning: { [onHealthRunning] channel in onHealthRunning(channel.localAddress?.port ?? port) },
            logger: logger)
    }

    /// - Parameter onListening: called when clients can connect. They are answered when it has returned.
    private func makeApplication(onListening: @escaping @Sendable () -> Void) throws -> some ApplicationProtocol {
        let configuration = state.configuration
        let router = Router(context: ServiceContext.self)
        router.add(middleware: RequestIDs())
        router.add(
            middleware: MeasuringMiddleware(
                metrics: state.metrics, idle: state.idle, logsRequests: configuration.logsRequests))
        router.add(middleware: AnswerCompression())
        router.add(middleware: ContentSecurityMiddleware(contentSecurityPolicy: .page))
        router.add(middleware: BrowserHeaders(isTLS: configuration.tls != nil))
        router.add(middleware: AllowedOrigins(configuration.origins))
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: ConnectionLimit(table: state.connections))
        router.add(middleware: access)
        router.add(middleware: ContentEncodingMiddleware())
        Routes(service: state).add(to: router)
        let onRunning = onRunning
        return Application(
            router: router, server: try server(),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.limits.connections + ConnectionTable.extra)),
            onServerRunning: { channel in
                onListening()
                await onRunning(channel.localAddress?.port ?? configuration.port)
            }, logger: logger)
    }

    private var access: AccessMiddleware {
        let configuration = state.configuration
        return AccessMiddleware(
            ring: state.keys,
            hosts: configuration.isLoopback && !configuration.isOpenToAll
                ? Set(
                    ["localhost", "127.0.0.1", "[::1]", configuration.host.lowercased()]
                        + [configuration.publicURL?.host?.lowercased()].compactMap(\.self)) : nil,
            origins: configuration.origins.union([configuration.publicOrigin].compactMap(\.self)),
            proxies: configuration.trustedProxies, rates: state.rates, rate: configuration.limits.requestsPerSecond,
            isReadOnly: !configuration.remotes.isEmpty)
    }

    private func server() throws -> HTTPServerBuilder {
        let (state, idleTime) = (state, state.configuration.limits.idleTime)
        let refusals = EarlyRefusals(access: access, state: state)
        let plain = HTTPServerBuilder.http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [
                    EarlyAnswers { refusals.answer(to: $0, on: $1) },
                    ConnectionMonitor(idleTime: idleTime, table: state.connections),
                ],
                idleTimeout: .init(idleTime),
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 64 << 10)))
        #if TLS
        if let identity { return try .tls(plain, tlsConfiguration: identity.configuration) }
        #endif
        return plain
    }
}
#endif
