import ArgumentParser
import Foundation
import Logging
import Lookalike
@_spi(Service) import LookalikeService
import Metrics
import PrometheusMetrics

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves every catalog below a folder.",
        discussion: """
            Each option can also be a variable of the environment, such as LOOKALIKE_SERVE_QUEUE_TIME, or a key of the \
            JSON file that --config names, such as "queueTime". Options come first, then the environment, then the file.

            SIGTERM and SIGINT end the service after the requests that it has were answered; a second one ends it at \
            once. The API keys and the certificate of HTTPS are read again at SIGHUP, and when their files change.
            """)

    @Option(help: ArgumentHelp("The folder whose subfolders are catalogs.", valueName: "dir"))
    var catalogs: String?

    @Option(help: "The address to listen at; 127.0.0.1 by default, this machine alone.")
    var host: String?

    @Option(help: "The port; 8700 by default, and 0 for any that is free.")
    var port: Int?

    @Option(help: ArgumentHelp("A JSON file with settings.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "A file with a line per API key, as make-key prints it. LOOKALIKE_SERVE_KEYS may have the lines, too.",
            valueName: "file"))
    var keysFile: String?

    @Flag(help: "Let other machines connect although there are no API keys.")
    var openToAll = false

    @Option(help: ArgumentHelp("Another origin whose pages may use the service (CORS).", valueName: "origin"))
    var origin: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where clients reach the service through a proxy, such as https://shop.example/search/.", valueName: "url"))
    var publicURL: String?

    @Option(
        help: ArgumentHelp(
            "The address of a proxy whose X-Forwarded-For says who sent a request; may be repeated.",
            valueName: "address"))
    var trustedProxy: [String] = []

    @Option(
        help: ArgumentHelp(
            "A folder with photos that the page offers for a first search: JPEG and PNG files, 64 MiB of them at most.",
            valueName: "dir"))
    var samples: String?

    @Option(help: ArgumentHelp("The certificate chain for HTTPS, a PEM file.", valueName: "file"))
    var tlsCertificates: String?

    @Option(help: ArgumentHelp("The private key for HTTPS, a PEM file.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "The memory that the service may use, such as 768M or 2G; that of the machine, or of its control group, by "
                + "default. Limits of bodies and images are made from it.", valueName: "size"))
    var memory: String?

    @Option(
        help: ArgumentHelp(
            "The space on the disk of the catalogs that is kept for removals, such as 500M; 64M by default. With less "
                + "left, other changes are refused.", valueName: "size"))
    var diskReserve: String?

    @Option(help: "The maximum number of bytes of a body; 32 MiB by default, less where memory is short.")
    var bodyBytes: Int?

    @Option(help: "The bytes that bodies in memory may take together; 512 MiB by default, less where memory is short.")
    var bodyBytesInFlight: Int?

    @Option(help: "The maximum number of bytes of a snapshot that is restored; 64 GiB by default.")
    var snapshotBytes: Int?

    @Option(help: "The maximum number of pixels of an image; 100 million by default.")
    var pixels: Int?

    @Option(help: ArgumentHelp("How long an image may take to decode; 5 by default.", valueName: "seconds"))
    var decodeTime: Double?

    @Option(help: ArgumentHelp("How long a search may take; 30 by default.", valueName: "seconds"))
    var requestTime: Double?

    @Option(help: "Image searches at once; one per processor by default, fewer where memory is short.")
    var searches: Int?

    @Option(help: "Image searches that wait for a place; 256 by default.")
    var queuedSearches: Int?

    @Option(
        help: ArgumentHelp(
            "How long a search waits for a place until it is refused with 503; 1 by default.", valueName: "seconds"))
    var queueTime: Double?

    @Option(help: "Searches without an image at once; 64 by default.")
    var printSearches: Int?

    @Option(help: "Changes that wait to be written; 1024 by default.")
    var queuedWrites: Int?

    @Option(
        help: ArgumentHelp(
            "Requests a second that a key may send, or without keys an address; ten times as many may come at once. No "
                + "limit by default.", valueName: "count"))
    var requestsPerSecond: Double?

    @Option(
        help: ArgumentHelp(
            "Catalogs that are open at once; 64 by default, fewer where memory is short. The least recently used one "
                + "is closed."))
    var openCatalogs: Int?

    @Option(help: "Open connections; 4096 by default.")
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "A port at which health and metrics are answered besides, without keys and however many connections there "
                + "are; 0 for any that is free.", valueName: "port"))
    var healthPort: Int?

    @Option(
        help: ArgumentHelp("A catalog whose thumbnails need no key; may be repeated.", valueName: "name"))
    var publicThumbnails: [String] = []

    @Option(
        help: ArgumentHelp(
            "Sign the links to thumbnails in answers, so that they need no key for once or twice this time.",
            valueName: "seconds"))
    var signedThumbnails: Double?

    @Option(
        help: ArgumentHelp(
            "A URL that gets a signed POST request when a task ends or a catalog changes; needs --webhook-secret-file.",
            valueName: "url"))
    var webhook: String?

    @Option(
        help: ArgumentHelp(
            "A file with the secret of the webhook's signatures: text, or base64 after whsec_; 24 bytes at least.",
            valueName: "file"))
    var webhookSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "Keep a snapshot of each catalog so often if it has changed, such as 6h or 1d; never by default.",
            valueName: "time"))
    var backupEvery: String?

    @Option(help: "The snapshots that are kept of each catalog; 7 by default.")
    var keep: Int?

    @Option(
        help: ArgumentHelp(
            "The folder for snapshots; “.backups” in that of the catalogs by default.", valueName: "folder"))
    var backups: String?

    @Option(help: "The bytes that batches which run as tasks may take on disk together; 8 GiB by default.")
    var taskBytes: Int?

    @Option(
        help: ArgumentHelp(
            "How long the service goes on after SIGTERM, while /health/ready says “stopping” to balancers; 0 by "
                + "default. A second signal skips the rest.", valueName: "seconds"))
    var drainDelay: Double?

    @Option(help: "What is logged: trace, debug, info, notice, warning, error or critical; info by default.")
    var logLevel: String?

    @Option(help: "How it is logged: text, or json with an object per line; text by default.")
    var logFormat: String?

    @Flag(help: "Log each request, with its id, its client, and the name of its key.")
    var accessLog = false

    func run() async throws {
        Catalog.handleTruncatedFiles()
        let settings = try Settings(file: config)
        let (configuration, level, isJSON) = try configuration(settings)
        LoggingSystem.bootstrap { label in
            var handler: any LogHandler =
                isJSON ? JSONLogHandler(label: label) : StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let file = keysFile ?? settings.text("keysFile")
        try await LookalikeService.runProcess(
            configuration, registry: registry, logger: Logger(label: "lookalike-serve"),
            keyFile: file.map { URL(fileURLWithPath: $0) }
        ) {
            // A pipe has settings once.
            let isFile = config.map { Self.isRegularFile($0) } ?? true
            return try keys(isFile ? try Settings(file: config) : settings)
        }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        return (try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) ?? false
    }

    private func configuration(_ settings: Settings) throws -> (ServiceConfiguration, Logger.Level, isJSON: Bool) {
        guard let folder = catalogs ?? settings.text("catalogs") else {
            throw ValidationError("Missing expected argument '--catalogs <dir>'")
        }
        var configuration = ServiceConfiguration(catalogs: URL(fileURLWithPath: folder))
        configuration.host = host ?? settings.text("host") ?? configuration.host
        configuration.port = try port ?? settings.integer("port") ?? configuration.port
        configuration.isOpenToAll = try openToAll || settings.flag("openToAll") ?? false
        configuration.origins = try origins(settings)
        configuration.keys = try keys(settings)
        if let text = publicURL ?? settings.text("publicURL") {
            guard let url = URL(string: text) else { throw ValidationError("--public-url is “\(text)”, no URL.") }
            configuration.publicURL = url
        }
        configuration.trustedProxies = Set(trustedProxy.isEmpty ? settings.list("trustedProxies") : trustedProxy)
        switch (tlsCertificates ?? settings.text("tlsCertificates"), tlsKey ?? settings.text("tlsKey")) {
        case (let certificates?, let key?):
            configuration.tls = .init(
                certificateChain: URL(fileURLWithPath: certificates), privateKey: URL(fileURLWithPath: key))
        case (nil, nil): break
        default: throw ValidationError("HTTPS needs both --tls-certificates and --tls-key.")
        }
        configuration.samples = (samples ?? settings.text("samples")).map { URL(fileURLWithPath: $0) }
        configuration.logsRequests = try accessLog || settings.flag("accessLog") ?? false
        configuration.healthPort = try healthPort ?? settings.integer("healthPort")
        let delay = try drainDelay ?? settings.number("drainDelay") ?? 0
        guard (0...86_400).contains(delay) else {
            throw ValidationError("“drainDelay” is \(delay) s; it is at least 0 and at most a day.")
        }
        configuration.drainDelay = .seconds(delay)
        configuration.webhook = try webhook(settings)
        configuration.backups = try backups(settings)
        configuration.publicThumbnails = Set(
            publicThumbnails.isEmpty ? settings.list("publicThumbnails") : publicThumbnails)
        if let time = try signedThumbnails ?? settings.number("signedThumbnails") {
            guard (1...31_622_400).contains(time) else {
                throw ValidationError("“signedThumbnails” is \(time) s; it is at least 1 and at most a year.")
            }
            configuration.signedThumbnailTime = .seconds(time)
        }
        configuration.limits = try limits(settings)
        guard (0...65_535).contains(configuration.port) else { throw ValidationError("--port is not in 0…65535.") }
        guard (0...65_535).contains(configuration.healthPort ?? 0) else {
            throw ValidationError("--health-port is not in 0…65535.")
        }
        let level = logLevel ?? settings.text("logLevel") ?? "info"
        guard let level = Logger.Level(rawValue: level) else {
            throw ValidationError("--log-level is none of trace, debug, info, notice, warning, error and critical.")
        }
        let format = logFormat ?? settings.text("logFormat") ?? "text"
        guard ["text", "json"].contains(format) else {
            throw ValidationError("--log-format is neither text nor json.")
        }
        return (configuration, level, format == "json")
    }

    private func origins(_ settings: Settings) throws -> Set<String> {
        let texts = origin.isEmpty ? (settings.text("origins") ?? "").split(separator: ",").map(String.init) : origin
        return Set(
            try texts.map { text in
                let text = text.trimmingCharacters(in: .whitespaces)
                // Browsers send an origin in this form (RFC 6454, section 6.2).
                guard text.wholeMatch(of: /[a-z][a-z0-9+.\-]*:\/\/[^\/?#@\sA-Z]+/) != nil else {
                    throw ValidationError(
                        "“\(text)” is not an origin such as https://shop.example, in lowercase and without a path.")
                }
                return text
            })
    }

    private func keys(_ settings: Settings) throws -> KeyRing {
        let given = settings.secret("keys")
        // A secret that was not filled in would let everybody in.
        if let given, try KeyRing(text: given).isEmpty {
            throw ServiceError(
                subject: "setting “keys”", reason: "has no API key; make one with “lookalike-serve make-key”.")
        }
        var text = given ?? ""
        if let file = keysFile ?? settings.text("keysFile") {
            do {
                text += "\n" + (try String(contentsOfFile: file, encoding: .utf8))
            } catch {
                throw ServiceError(
                    subject: file,
                    reason: "cannot be read: \(error.localizedDescription) “lookalike-serve make-key” makes keys.")
            }
            do {
                guard try !KeyRing(text: text).isEmpty else {
                    throw ServiceError(
                        subject: file, reason: "has no API key; make one with “lookalike-serve make-key”.")
                }
            } catch let error as APIKeyError {
                throw ServiceError(subject: file, reason: "\(error)")
            }
        }
        return try KeyRing(text: text)
    }

    private func backups(_ settings: Settings) throws -> ServiceConfiguration.Backups? {
        let (keep, folder) = (try keep ?? settings.integer("keep"), backups ?? settings.text("backups"))
        guard let text = backupEvery ?? settings.text("backupEvery") else {
            guard keep == nil, folder == nil else {
                throw ValidationError("--keep and --backups are for snapshots, and need --backup-every.")
            }
            return nil
        }
        let units = ["s": 1.0, "m": 60, "h": 3600, "d": 86_400]
        guard let match = text.wholeMatch(of: /([0-9]{1,9}(?:\.[0-9]+)?) ?([smhd])/),
            let count = Double(match.1), let unit = units[String(match.2)]
        else { throw ValidationError("“backupEvery” is “\(text)”, no time such as 30m, 6h or 1d.") }
        return ServiceConfiguration.Backups(
            every: .seconds(count * unit), keep: keep ?? 7, folder: folder.map { URL(fileURLWithPath: $0) })
    }

    private func webhook(_ settings: Settings) throws -> ServiceConfiguration.Webhook? {
        switch (webhook ?? settings.text("webhook"), webhookSecretFile ?? settings.text("webhookSecretFile")) {
        case (let text?, let file?):
            guard let url = URL(string: text) else { throw ValidationError("--webhook is “\(text)”, no URL.") }
            let content: String
            do {
                content = try String(contentsOfFile: file, encoding: .utf8)
            } catch {
                throw ServiceError(subject: file, reason: "cannot be read: \(error.localizedDescription)")
            }
            guard let secret = ServiceConfiguration.Webhook.secret(content) else {
                throw ServiceError(subject: file, reason: "has no base64 after “whsec_”.")
            }
            return ServiceConfiguration.Webhook(url: url, secret: secret)
        case (nil, nil): return nil
        default: throw ValidationError("A webhook needs both --webhook and --webhook-secret-file.")
        }
    }

    private func limits(_ settings: Settings) throws -> ServiceLimits {
        func size(_ given: String?, _ name: String) throws -> Int? {
            guard let text = given ?? settings.text(name) else { return nil }
            guard let bytes = MemoryShares.bytes(text) else {
                throw ValidationError("“\(name)” is “\(text)”, no size such as 768M or 2G.")
            }
            return bytes
        }
        var limits = ServiceLimits(
            memory: try size(memory, "memory"), searches: try searches ?? settings.integer("searches"))
        func time(_ given: Double?, _ name: String, _ standard: Duration) throws -> Duration {
            guard let seconds = try given ?? settings.number(name) else { return standard }
            guard seconds > 0, seconds <= 86_400 else {
                throw ValidationError("“\(name)” is \(seconds) s; it is more than 0 and at most a day.")
            }
            return .seconds(seconds)
        }
        limits.bodyBytes = try bodyBytes ?? settings.integer("bodyBytes") ?? limits.bodyBytes
        limits.bodyBytesInFlight =
            try bodyBytesInFlight ?? settings.integer("bodyBytesInFlight") ?? limits.bodyBytesInFlight
        limits.snapshotBytes = try snapshotBytes ?? settings.integer("snapshotBytes") ?? limits.snapshotBytes
        limits.pixels = try pixels ?? settings.integer("pixels") ?? limits.pixels
        limits.queuedSearches = try queuedSearches ?? settings.integer("queuedSearches") ?? limits.queuedSearches
        limits.printSearches = try printSearches ?? settings.integer("printSearches") ?? limits.printSearches
        limits.queuedWrites = try queuedWrites ?? settings.integer("queuedWrites") ?? limits.queuedWrites
        limits.requestsPerSecond = try requestsPerSecond ?? settings.number("requestsPerSecond")
        if let rate = limits.requestsPerSecond, !(0.001...1e6).contains(rate) {
            throw ValidationError("“requestsPerSecond” is \(rate); it is between 0.001 and a million.")
        }
        limits.diskReserve = try size(diskReserve, "diskReserve") ?? limits.diskReserve
        limits.taskBytes = try taskBytes ?? settings.integer("taskBytes") ?? limits.taskBytes
        limits.openCatalogs = try openCatalogs ?? settings.integer("openCatalogs") ?? limits.openCatalogs
        limits.connections = try connections ?? settings.integer("connections") ?? limits.connections
        limits.decodeTime = try time(decodeTime, "decodeTime", limits.decodeTime)
        limits.requestTime = try time(requestTime, "requestTime", limits.requestTime)
        limits.queueTime = try time(queueTime, "queueTime", limits.queueTime)
        return limits
    }
}
