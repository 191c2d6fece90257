#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Lookalike
import NIOCore
import PrometheusMetrics

/// The paths of the service, and what answers at them.
struct Routes: Sendable {
    typealias Handler = @Sendable (Request, ServiceContext) async throws -> Response

    let service: ServiceState

    private static let methods: [HTTPRequest.Method] =
        [.get, .head, .post, .put, .patch, .delete, .options, .trace, .connect]
        + [HTTPRequest.Method("QUERY")].compactMap(\.self)

    /// All paths with their methods.
    var all: [(path: String, handlers: [(HTTPRequest.Method, Handler)])] {
        let catalogs = CatalogHandler(service: service)
        let entities = EntityHandler(service: service)
        let snapshots = SnapshotHandler(service: service)
        let system = SystemHandler(service: service)
        let search = SearchHandler(service: service)
        let batch = BatchHandler(service: service)
        let prints = PrintHandler(service: service)
        let previews = PreviewHandler(service: service)
        let samples = SampleHandler(folder: service.configuration.samples, logger: service.logger)
        let catalog = "/v1/catalogs/:catalog"
        var routes: [(path: String, handlers: [(HTTPRequest.Method, Handler)])] = [
            ("/v1/catalogs", [(.get, catalogs.list)]),
            (catalog, [(.get, catalogs.get), (.put, catalogs.put), (.delete, catalogs.delete)]),
            (catalog + "/search", [(.post, search.callAsFunction)]),
            (catalog + "/snapshot", [(.post, snapshots.snapshot)]),
            (catalog + "/restore", [(.post, snapshots.restore)]),
            (catalog + "/entities:batch", [(.post, batch.callAsFunction)]),
            (
                catalog + "/entities/:id",
                [(.get, entities.get), (.put, entities.put), (.patch, entities.patch), (.delete, entities.delete)]
            ),
            (catalog + "/entities/:id/thumbnail", [(.get, entities.thumbnail)]),
            ("/v1/access", [(.get, AccessHandler().callAsFunction)]),
            ("/v1/samples", [(.get, samples.list)]),
            ("/v1/samples/:name", [(.get, samples.get)]),
            ("/v1/prints", [(.post, prints.callAsFunction)]),
            ("/v1/previews", [(.post, previews.callAsFunction)]),
            ("/health/live", [(.get, system.live)]),
            ("/health/ready", [(.get, system.ready)]),
            ("/metrics", [(.get, system.metrics)]),
            ("/openapi.json", [(.get, system.openAPI)]),
        ]
        for (name, type) in ServiceResources.pageFiles {
            let handler: Handler = { request, _ in
                try ServiceResources.response("Resources/" + name, type: type, request)
            }
            routes.append((name == "index.html" ? "/" : "/" + name, [(.get, handler)]))
        }
        return routes
    }

    /// Adds the paths to a router. Other methods get 405, with those that are allowed.
    func add(to router: Router<ServiceContext>) {
        for (path, handlers) in all {
            var allowed = handlers.map(\.0.rawValue)
            if allowed.contains("GET") { allowed.append("HEAD") }
            let list = allowed.joined(separator: ", ")
            for (method, handler) in handlers {
                router.on(RouterPath(path), method: method) { request, context -> Response in
                    try await handler(request, context)
                }
                guard method == .get else { continue }
                router.on(RouterPath(path), method: .head) { request, context -> Response in
                    try await handler(request, context).createHeadResponse()
                }
            }
            for method in Self.methods where !allowed.contains(method.rawValue) {
                router.on(RouterPath(path), method: method) { _, _ -> Response in
                    throw Problem(
                        .methodNotAllowed, "Allowed here: \(list).", headers: [.allow: list])
                }
            }
        }
    }
}

/// Health, metrics and the description of the interface.
struct SystemHandler: Sendable {
    let service: ServiceState

    struct Health: Encodable, Sendable {
        let status: String
    }

    /// Whether the process answers.
    func live(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(Health(status: "live"))
    }

    /// Whether requests should be sent here.
    func ready(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let state = service.readiness.current
        return Response(
            Health(status: state.rawValue), status: state == .ready ? .ok : .serviceUnavailable,
            headers: state == .ready ? [:] : [.retryAfter: "1"])
    }

    func metrics(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        if let names = try? service.store.names() {
            var counts: [CatalogName: Int] = [:]
            for name in names { counts[name] = try? await service.store.count(name) }
            service.metrics.catalogs(counts, open: service.store.openCount)
        }
        let usage = ProcessUsage()
        service.metrics.process(memory: usage.residentBytes, files: usage.openFiles)
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: service.registry.text())))
    }

    func openAPI(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try ServiceResources.response("openapi.json", type: "application/json", request)
    }
}

/// The memory and the files of this process, as Linux says in `/proc`.
struct ProcessUsage {
    /// The resident bytes; nil where there is no `/proc`.
    let residentBytes: Int?
    let openFiles: Int?

    init() {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
            .split(separator: " ").dropFirst().first.flatMap { Int($0) }
        residentBytes = pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
        openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    }
}
#endif
