import ArgumentParser
import CommandProcess
import Foundation
import Logging
import Lookalike
@_spi(Service) import LookalikeService
import MilvusCatalog

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Searches collections over HTTP.",
        discussion: """
            Prints its URL when it listens. The name of a catalog in paths is that of its collection. The interface is \
            that of “lookalike serve”, without what changes a catalog or reads more than an image search: such a \
            request is answered with 409. It keeps nothing, so any number of these run beside each other, and a client \
            whose node has ended asks another one. While Milvus does not answer, it answers 503.

            SIGTERM and SIGINT end it after the requests that it has were answered; a second one ends it at once. \
            SIGHUP reads the API keys again.
            """)

    @Argument(help: "The addresses of the collections.", transform: Parsed.address) var addresses: [MilvusAddress]
    @Option(help: "The address to listen at; 127.0.0.1 by default, this machine alone.") var host = "127.0.0.1"
    @Option(help: "The port; 0 for any that is free.") var port = 8700
    @Option(
        help: ArgumentHelp(
            "A file with a line per API key, as “lookalike-serve make-key” prints it.", valueName: "file"))
    var keysFile: String?
    @Flag(help: "Let other machines connect although there are no API keys.") var openToAll = false
    @Option(help: ArgumentHelp("Another origin whose pages may use the service (CORS).", valueName: "origin"))
    var origin: [String] = []
    @Option(help: ArgumentHelp("Where clients reach the service through a proxy.", valueName: "url"))
    var publicURL: String?
    @Option(
        help: ArgumentHelp("The address of a proxy whose X-Forwarded-For is believed.", valueName: "address"))
    var trustedProxy: [String] = []
    @Option(help: "A port at which health and metrics are answered besides; 0 for any that is free.")
    var healthPort: Int?
    @Option(help: ArgumentHelp("How long the service goes on after SIGTERM, as not ready.", valueName: "seconds"))
    var drainDelay = 0.0
    @Option(help: ArgumentHelp("How long a search may take.", valueName: "seconds")) var requestTime = 30.0
    @Flag(help: "Log each request.") var accessLog = false
    @OptionGroup var breadth: BreadthOption
    @OptionGroup var server: ServerOptions
    @OptionGroup var model: ModelOption

    func validate() throws {
        var names: Set<String> = []
        for address in addresses where !names.insert(address.collection).inserted {
            throw ValidationError("Two collections have the name “\(address.collection)”.")
        }
        for (name, port) in [("--port", port), ("--health-port", healthPort ?? 0)] where !(0...65_535).contains(port) {
            throw ValidationError("\(name) is not in 0…65535.")
        }
        guard (0...86_400).contains(drainDelay) else { throw ValidationError("--drain-delay must be from 0 to 86400.") }
        guard (0.001...86_400).contains(requestTime) else {
            throw ValidationError("--request-time must be from 0.001 to 86400.")
        }
    }

    func run() async throws {
        try await LookalikeService.runProcess(
            try configuration(), logger: Logger(label: "lookalike-milvus"),
            keyFile: keysFile.map { URL(fileURLWithPath: $0) }, keys: { [keysFile] in try Self.keys(in: keysFile) })
    }

    private func configuration() throws -> ServiceConfiguration {
        let (model, options) = (try model.loaded, server.options(breadth))
        var remotes: [String: @Sendable () async throws -> any SearchableCatalog] = [:]
        for address in addresses {
            remotes[address.collection] = {
                try await RemoteCatalogSearch(MilvusCatalog(address, options: options), model: model)
            }
        }
        var configuration = ServiceConfiguration(remotes: remotes)
        (configuration.host, configuration.port, configuration.healthPort) = (host, port, healthPort)
        (configuration.isOpenToAll, configuration.logsRequests) = (openToAll, accessLog)
        (configuration.keys, configuration.origins) = (try Self.keys(in: keysFile), Set(origin))
        configuration.trustedProxies = Set(trustedProxy)
        if let publicURL {
            guard let url = URL(string: publicURL) else {
                throw ValidationError("--public-url is “\(publicURL)”, no URL.")
            }
            configuration.publicURL = url
        }
        (configuration.drainDelay, configuration.limits.requestTime) = (.seconds(drainDelay), .seconds(requestTime))
        return configuration
    }

    private static func keys(in file: String?) throws -> KeyRing {
        guard let file else { return KeyRing() }
        do {
            return try KeyRing(text: String(contentsOfFile: file, encoding: .utf8))
        } catch let error as APIKeyError {
            throw ServiceError(subject: file, reason: "\(error)")
        } catch {
            throw ServiceError(subject: file, reason: "cannot be read: \(error.localizedDescription)")
        }
    }
}
