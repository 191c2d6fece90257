import HTTPTypes
import Hummingbird

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
            ("/v1/samples", [(.get, samples.list)]),
            ("/v1/samples/:name", [(.get, samples.get)]),
            ("/v1/prints", [(.post, prints.callAsFunction)]),
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
