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
        let list = EntitiesHandler(service: service)
        let snapshots = SnapshotHandler(service: service)
        let system = SystemHandler(service: service)
        let search = SearchHandler(service: service)
        let batch = BatchHandler(service: service)
        let tasks = TasksHandler(service: service)
        let prints = PrintHandler(service: service)
        let previews = PreviewHandler(service: service)
        let samples = SampleHandler(
            folder: service.configuration.samples, base: service.base, logger: service.logger)
        let catalog = "/v1/catalogs/:catalog"
        var routes: [(path: String, handlers: [(HTTPRequest.Method, Handler)])] = [
            ("/v1/catalogs", [(.get, Self.plain(catalogs.list))]),
            (
                catalog,
                [
                    (.get, Self.plain(catalogs.get)), (.put, Self.withoutFields(catalogs.put)),
                    (.delete, Self.plain(catalogs.delete)),
                ]
            ),
            (catalog + "/search", [(.post, search.callAsFunction), (.get, search.callAsFunction)]),
            (catalog + "/swap", [(.post, Self.plain(catalogs.swap))]),
            (catalog + "/snapshot", [(.post, Self.plain(snapshots.snapshot))]),
            (catalog + "/restore", [(.post, Self.withoutTags(snapshots.restore))]),
            (catalog + "/entities:batch", [(.post, Self.plain(batch.callAsFunction))]),
            (
                catalog + "/entities",
                [(.get, list.list), (.patch, Self.withoutTags(list.patch)), (.delete, Self.withoutTags(list.delete))]
            ),
            (
                catalog + "/entities/:id",
                [
                    (.get, entities.get), (.put, entities.put), (.patch, Self.withoutFields(entities.patch)),
                    (.delete, Self.withoutFields(entities.delete)),
                ]
            ),
            (catalog + "/entities/:id/undo", [(.post, Self.withoutFields(entities.undo))]),
            (catalog + "/entities/:id/thumbnail", [(.get, entities.thumbnail)]),
            (catalog + "/entities/:id/images", [(.get, entities.images), (.post, entities.addImages)]),
            (catalog + "/entities/:id/images/:image", [(.delete, entities.removeImage)]),
            (catalog + "/entities/:id/images/:image/thumbnail", [(.get, entities.thumbnail)]),
            ("/v1/tasks", [(.get, Self.plain(tasks.list))]),
            ("/v1/tasks/:id", [(.get, Self.plain(tasks.get)), (.delete, Self.plain(tasks.delete))]),
            ("/v1/access", [(.get, AccessHandler().callAsFunction)]),
            ("/v1/samples", [(.get, samples.list)]),
            ("/v1/samples/:name", [(.get, samples.get)]),
            ("/v1/prints", [(.post, prints.callAsFunction)]),
            ("/v1/previews", [(.post, previews.callAsFunction)]),
        ]
        routes += health
        routes += [
            ("/openapi.json", [(.get, system.openAPI)])
        ]
        for (name, type) in ServiceResources.pageFiles {
            let handler: Handler = { request, _ in
                try ServiceResources.response("Resources/" + name, type: type, request)
            }
            routes.append((name == "index.html" ? "/" : "/" + name, [(.get, handler)]))
        }
        return routes
    }

    /// A handler that reads neither fields of the query string nor entity tags.
    private static func plain(_ handler: @escaping Handler) -> Handler { withoutFields(withoutTags(handler)) }

    /// A handler that reads no fields of the query string. What is not read would be ignored: a removal with
    /// `dry-run=true` would remove.
    private static func withoutFields(_ handler: @escaping Handler) -> Handler {
        { request, context in
            try RequestFields(query: request.uri.query).check([])
            return try await handler(request, context)
        }
    }

    /// A handler of what has no entity tag.
    private static func withoutTags(_ handler: @escaping Handler) -> Handler {
        { request, context in
            let isSafe = request.method == .get || request.method == .head
            guard isSafe || request.headers[.ifMatch] == nil && request.headers[.ifNoneMatch] == nil else {
                throw Problem(
                    .invalidRequest, "“If-Match” and “If-None-Match” are for one entity, and would be ignored here.")
            }
            return try await handler(request, context)
        }
    }

    /// What operators ask for.
    private var health: [(path: String, handlers: [(HTTPRequest.Method, Handler)])] {
        let system = SystemHandler(service: service)
        return [
            ("/health/live", [(.get, system.live)]), ("/health/ready", [(.get, system.ready)]),
            ("/metrics", [(.get, system.metrics)]),
        ]
    }

    func addHealth(to router: Router<ServiceContext>) { add(health, to: router) }

    /// Adds the paths to a router. Other methods get 405, with those that are allowed.
    func add(to router: Router<ServiceContext>) { add(all, to: router) }

    private func add(
        _ routes: [(path: String, handlers: [(HTTPRequest.Method, Handler)])], to router: Router<ServiceContext>
    ) {
        for (path, handlers) in routes {
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
        /// The number of catalogs that could not be opened; nil for none.
        var failedCatalogs: Int?
        /// Their names, for those who may read.
        var failed: [String]?
        /// True if changes that need space on the disk are refused; nil otherwise.
        var diskIsFull: Bool?
        /// The bytes that are left on the disk of the catalogs, for those who may read.
        var diskAvailable: Int?
    }

    /// Whether the process answers.
    func live(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(Health(status: "live"))
    }

    /// Whether requests should be sent here.
    func ready(_ request: Request, _ context: ServiceContext) async throws -> Response {
        var state = service.readiness.current
        let failed = service.store.failed
        // Others serve the catalogs that are not damaged.
        if state == .ready, !failed.isEmpty, failed.count == (try? service.store.names().count) { state = .failed }
        let disk = service.disk
        let mayRead = context.scope != nil && context.catalogs == nil
        return Response(
            Health(
                status: state.rawValue, failedCatalogs: failed.isEmpty ? nil : failed.count,
                failed: failed.isEmpty || !mayRead ? nil : failed.map(\.description),
                diskIsFull: disk.isFull ? true : nil, diskAvailable: mayRead ? disk.available : nil),
            status: state == .ready ? .ok : .serviceUnavailable,
            headers: state == .ready ? [:] : [.retryAfter: "1"])
    }

    func metrics(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        try context.requireAllCatalogs()
        if let names = try? service.store.names() {
            var counts: [CatalogName: Int] = [:]
            for name in names { counts[name] = try? await service.store.entry(name).count }
            service.metrics.catalogs(counts, open: service.store.openCount)
        }
        service.metrics.process(
            ProcessUsage(), disk: service.disk.available, limits: service.configuration.limits,
            bodies: service.bodies.budget.used, failed: service.store.failed.count,
            tasks: await service.tasks.activeCount)
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: service.registry.text())))
    }

    func openAPI(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try ServiceResources.response("openapi.json", type: "application/json", request)
    }
}

/// The space of a file system.
enum DiskSpace {
    /// The bytes that are left for this process; nil if that is not known.
    static func available(at url: URL) -> Int? {
        var disk = statvfs()
        guard statvfs(url.path, &disk) == 0 else { return nil }
        return Int(clamping: disk.f_bavail) * Int(clamping: disk.f_frsize)
    }
}

/// The memory and the files of this process, as Linux says in `/proc`.
struct ProcessUsage {
    /// The resident bytes; nil where there is no `/proc`.
    let residentBytes: Int?
    let openFiles: Int?
    /// The time of all processors.
    let processorSeconds: Double?

    init() {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
            .split(separator: " ").dropFirst().first.flatMap { Int($0) }
        residentBytes = pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
        var usage = rusage()
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        processorSeconds =
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0
            ? seconds(usage.ru_utime) + seconds(usage.ru_stime) : nil
        openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    }
}
#endif
