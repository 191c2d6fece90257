#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import PrometheusMetrics
public import ServiceLifecycle

#if TLS
import HummingbirdTLS
import NIOSSL
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

    /// A service that does not listen yet.
    ///
    /// - Parameters:
    ///   - registry: where its metrics are kept.
    ///   - onRunning: called with the port when the service listens. The service answers requests from then on, and
    ///     opens the catalogs meanwhile; a request for a catalog that is not open yet opens it.
    /// - Throws: ``ServiceError`` for a configuration that cannot run.
    public init(
        _ configuration: ServiceConfiguration, registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger = Logger(label: "lookalike-serve"),
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
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
        state = ServiceState(configuration, registry: registry, logger: logger)
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

    /// Answers requests and opens the catalogs until the task is cancelled or the service group shuts down gracefully:
    /// then it answers the requests that it has, takes no more connections, and ends.
    public func run() async throws {
        if state.configuration.keys.isEmpty {
            logger.warning(
                """
                There are no API keys: everybody who reaches \(state.configuration.host) may change and remove \
                catalogs. “lookalike-serve make-key” makes keys.
                """)
        }
        state.store.removeLeftovers()
        let state = state
        let outcome: Result<Void, any Error>
        do {
            try await withGracefulShutdownHandler {
                let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
                let application = try makeApplication { continuation.yield() }
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask {
                        // A service that cannot listen leaves the catalogs alone.
                        for await _ in listening.prefix(1) {
                            await state.store.openAll()
                            state.readiness.set(.ready)
                        }
                    }
                    group.addTask {
                        let time = state.configuration.limits.catalogIdleTime
                        while true {
                            try await Task.sleep(for: time / 4)
                            await state.store.closeUnused(since: .now - time)
                        }
                    }
                    try await application.run()
                    group.cancelAll()
                }
            } onGracefulShutdown: {
                state.readiness.set(.stopping)
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await state.store.close()
        do {
            try outcome.get()
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            let port = state.configuration.port
            throw ServiceError(
                subject: "--port \(port)",
                reason: error.errnoCode == EACCES
                    ? "is not for everybody: the system lets its administrator alone listen there."
                    : "is taken at \(state.configuration.host) by another program; choose another one.")
        }
    }

    /// - Parameter onListening: called when clients can connect. They are answered when it has returned.
    private func makeApplication(onListening: @escaping @Sendable () -> Void) throws -> some ApplicationProtocol {
        let configuration = state.configuration
        let router = Router(context: ServiceContext.self)
        router.add(middleware: MeasuringMiddleware(metrics: state.metrics))
        router.add(middleware: ContentSecurityMiddleware(contentSecurityPolicy: .page))
        router.add(middleware: BrowserHeaders(isTLS: configuration.tls != nil))
        router.add(middleware: AllowedOrigins(configuration.origins))
        router.add(middleware: ProblemMiddleware())
        router.add(
            middleware: AccessMiddleware(
                ring: state.keys,
                hosts: configuration.isLoopback && !configuration.isOpenToAll
                    ? ["localhost", "127.0.0.1", "[::1]", configuration.host.lowercased()] : nil,
                origins: configuration.origins, rates: state.rates, rate: configuration.limits.requestsPerSecond))
        router.add(middleware: ContentEncodingMiddleware())
        Routes(service: state).add(to: router)
        let onRunning = onRunning
        return Application(
            router: router, server: try server(),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.limits.connections)),
            onServerRunning: { channel in
                onListening()
                await onRunning(channel.localAddress?.port ?? configuration.port)
            }, logger: logger)
    }

    private func server() throws -> HTTPServerBuilder {
        let idleTime = state.configuration.limits.idleTime
        let plain = HTTPServerBuilder.http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionMonitor(idleTime: idleTime)], idleTimeout: .init(idleTime),
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 64 << 10)))
        guard let files = state.configuration.tls else { return plain }
        #if TLS
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(files.certificateChain.path)
            let key = try NIOSSLPrivateKey(file: files.privateKey.path, format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            return try .tls(plain, tlsConfiguration: tls)
        } catch {
            throw ServiceError(subject: "the TLS files", reason: "cannot be used: \(error)")
        }
        #else
        throw ServiceError(
            subject: files.certificateChain.path,
            reason: "this program was built without the package's trait TLS")
        #endif
    }
}
#endif
