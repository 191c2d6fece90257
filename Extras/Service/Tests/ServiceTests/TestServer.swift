import Foundation
import Logging
import Lookalike
@_spi(Service) import LookalikeService
import PrometheusMetrics
import Testing

/// A service on a port of its own, with a copy of a small catalog of demo covers, `covers`.
struct TestServer: Sendable {
    let port: Int
    let folder: URL

    /// Runs `body` with a service, and ends the service.
    static func run<Result: Sendable>(
        covers: Bool = true, folder: URL? = nil, configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestServer) async throws -> Result
    ) async throws -> Result {
        let home = folder ?? FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { if folder == nil { try? FileManager.default.removeItem(at: home) } }
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        if covers {
            try FileManager.default.copyItem(at: DemoCovers.catalog, to: home.appendingPathComponent("covers"))
        }
        var configuration = ServiceConfiguration(catalogs: home)
        configuration.port = 0
        configuration.limits.queueTime = .seconds(20)
        configure(&configuration)
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "test")
        logger.logLevel = .error
        let service = try LookalikeService(configuration, logger: logger) { port in continuation.yield(port) }
        let running = Task {
            defer { continuation.finish() }
            try await service.run()
        }
        guard let port = await ports.first(where: { _ in true }) else {
            _ = try await running.value
            throw CancellationError()
        }
        let outcome: Swift.Result<Result, any Error>
        do {
            outcome = .success(try await body(TestServer(port: port, folder: home)))
        } catch {
            outcome = .failure(error)
        }
        running.cancel()
        _ = await running.result
        return try outcome.get()
    }

    /// Sends a request, and awaits its answer.
    func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data? = nil
    ) async throws -> HTTPReply {
        try await HTTPClient(port: port).send(method, path, headers, body: body)
    }

    func json(_ method: String, _ path: String, _ value: [String: Any]) async throws -> HTTPReply {
        try await send(
            method, path, ["Content-Type": "application/json"], body: try JSONSerialization.data(withJSONObject: value))
    }
}

/// The covers of the demo, and a catalog of some of them that is made once.
enum DemoCovers {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../Examples/Demo").standardizedFileURL

    static let ids = [
        "slow-meridian", "paper-lanterns", "night-bus-to-porto", "copper-horizon", "glass-orchard", "salt-signal",
    ]

    static func image(_ id: String) throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent("covers/\(id).jpg"))
    }

    /// A screenshot that shows `copper-horizon`.
    static func screenshot() throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent("queries/screenshot-1.png"))
    }

    static let catalog: URL = {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("service-covers-\(getpid())")
        do {
            let items = try ids.enumerated().map { index, id in
                IndexItem(
                    CatalogEntity(
                        id: id, type: index % 2 == 0 ? "album" : "single",
                        title: id.replacing("-", with: " "), labels: ["demo"],
                        attributes: ["year": "\(1998 + index)"]), image: .data(try image(id)))
            }
            let indexer = try CatalogIndexer(at: url)
            let report = try indexer.index(items)
            precondition(report.added == ids.count, "\(report.problems)")
        } catch {
            preconditionFailure("the covers cannot be indexed: \(error)")
        }
        return url
    }()
}
