import Foundation
import Hummingbird

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
            for name in names { counts[name] = try? await service.store.catalog(name).catalog.count }
            service.metrics.entities(counts)
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

/// What this process takes of the machine, as Linux says in `/proc`.
struct ProcessUsage {
    /// Nil where there is no `/proc`.
    let residentBytes: Int?
    let openFiles: Int?

    init() {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
            .split(separator: " ").dropFirst().first.flatMap { Int($0) }
        residentBytes = pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
        openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    }
}
