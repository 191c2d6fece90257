#if Service
public import Foundation
public import Lookalike

/// How a service runs.
public struct ServiceConfiguration: Sendable {
    /// The folder whose subfolders are catalogs.
    public var catalogs: URL
    /// How to open catalogs that databases elsewhere keep, by name. A service that has any serves these alone: it
    /// searches them, and changes nothing.
    let remotes: [String: @Sendable () async throws -> any SearchableCatalog]
    /// The folder of a service without catalogs of its own, which is removed when it ends.
    let temporaryFolder: URL?
    /// The name or address to listen at.
    public var host = "127.0.0.1"
    /// The port; 0 for any that is free.
    public var port = 8700
    /// The keys that are accepted; without any, everybody may do everything.
    public var keys = KeyRing()
    /// Whether other machines may connect although there are no keys.
    public var isOpenToAll = false
    /// Other origins whose pages may use the service (CORS), such as `https://shop.example`.
    public var origins: Set<String> = []
    /// Where clients reach the service through a proxy, such as `https://shop.example/search/`; nil without one.
    /// Answers name thumbnails below it, and its pages may send requests.
    public var publicURL: URL?
    /// The addresses of proxies, whose field `X-Forwarded-For` says who sent a request.
    public var trustedProxies: Set<String> = []
    /// The certificate chain and the private key, PEM files; nil for HTTP without TLS.
    public var tls: TLSFiles?
    /// A folder with photos that the page offers for a first search; nil for none. JPEG and PNG files are read when the
    /// service is made, 64 MiB of them at most.
    public var samples: URL?
    /// Whether each request is logged, with the name of its key and the address of its client.
    public var logsRequests = false
    /// A port at which health and metrics are answered besides, without keys and however many connections there are;
    /// nil for none.
    public var healthPort: Int?
    /// How long the service goes on after SIGTERM, as before except that it is not ready.
    public var drainDelay = Duration.zero
    /// Catalogs whose thumbnails need no key.
    public var publicThumbnails: Set<String> = []
    /// How long answers' links to thumbnails need no key: once or twice this time, so that a link stays the same
    /// meanwhile. Nil for never.
    public var signedThumbnailTime: Duration?
    /// Where to send a request when a task ends or a catalog changes; nil for nowhere.
    public var webhook: Webhook?
    /// When snapshots of all catalogs are kept; nil for never.
    public var backups: Backups?
    /// What requests may take.
    public var limits = ServiceLimits()

    /// The default configuration for a folder of catalogs.
    public init(catalogs: URL) { (self.catalogs, remotes, temporaryFolder) = (catalogs, [:], nil) }

    /// The default configuration for catalogs that databases elsewhere keep (`RemoteCatalog`).
    ///
    /// Such a service answers searches with images and prints, and refuses changes. It keeps nothing that another one
    /// beside it would need, except for a while the queries that it was asked.
    ///
    /// - Parameter remotes: opens each, by name; called when it is first asked for, and once a minute from then on, to
    ///   see how large it has become.
    public init(remotes: [String: @Sendable () async throws -> any SearchableCatalog]) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lookalike-\(UUID().uuidString)")
        (catalogs, self.remotes, temporaryFolder) = (folder, remotes, folder)
    }

    /// PEM files for TLS.
    public struct TLSFiles: Sendable {
        /// The certificate, followed by the certificates that sign it.
        public var certificateChain: URL
        /// The private key.
        public var privateKey: URL

        /// The files of a certificate chain and its key.
        public init(certificateChain: URL, privateKey: URL) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// Snapshots that are taken by the clock.
    public struct Backups: Sendable {
        /// How long after a snapshot of a catalog the next one is taken, if the catalog has changed.
        public var interval: Duration
        /// How many are kept of each catalog; older ones are removed.
        public var keep: Int
        /// Where they are, in a folder for each catalog; nil for the folder `.backups` of the catalogs.
        public var folder: URL?

        /// Snapshots in an interval.
        public init(every interval: Duration, keep: Int = 7, folder: URL? = nil) {
            (self.interval, self.keep, self.folder) = (interval, keep, folder)
        }

        /// - Throws: ``ServiceError`` for an interval or a number that cannot be.
        func check() throws(ServiceError) {
            guard interval >= .seconds(1), interval <= .seconds(366 * 86_400) else {
                throw ServiceError(subject: "--backup-every", reason: "is at least a second and at most a year.")
            }
            guard (1...100_000).contains(keep) else {
                throw ServiceError(subject: "--keep", reason: "is \(keep); it must be between 1 and 100000.")
            }
        }
    }

    /// A URL that gets events as `POST` requests.
    public struct Webhook: Sendable {
        /// Where the requests go.
        public var url: URL
        /// What the requests are signed with, 24 bytes at least.
        public var secret: Data
        /// How long to wait after each failed attempt but the last; two days in all.
        public var retryDelays: [Duration] = [1, 5, 25, 125, 625, 3600, 3 * 3600, 12 * 3600, 32 * 3600].map {
            .seconds($0)
        }

        /// How long changes of a catalog are collected before one event is sent for all of them.
        public var changeInterval = Duration.seconds(5)

        /// A program at a URL, with a secret that it knows.
        public init(url: URL, secret: Data) {
            self.url = url
            self.secret = secret
        }

        /// - Throws: ``ServiceError`` for a URL that requests cannot be sent to, and a short secret.
        func check() throws(ServiceError) {
            let schemes: Set<String?> = WebhookQueue.supportsTLS ? ["http", "https"] : ["http"]
            guard schemes.contains(url.scheme), !(url.host ?? "").isEmpty, url.user == nil, url.fragment == nil else {
                throw ServiceError(
                    subject: "--webhook \(url.absoluteString)",
                    reason: url.scheme == "https" && !WebhookQueue.supportsTLS
                        ? "needs a program that was built with the package's trait TLS."
                        : "is no URL such as https://shop.example/events.")
            }
            guard secret.count >= 24 else {
                throw ServiceError(
                    subject: "the secret of the webhook", reason: "has \(secret.count) bytes; it needs 24 at least.")
            }
        }
    }

    /// What paths in answers start with: nothing, or the public URL without its last slash.
    var base: String {
        let text = publicURL?.absoluteString ?? ""
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// The origin of the public URL (RFC 6454, section 6.2); nil without one.
    var publicOrigin: String? {
        guard let publicURL, let scheme = publicURL.scheme, let host = publicURL.host else { return nil }
        return "\(scheme)://\(host)" + (publicURL.port.map { ":\($0)" } ?? "")
    }

    /// Whether only this machine can connect.
    var isLoopback: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) || host.hasPrefix("127.") }

    /// - Throws: ``ServiceError`` for a configuration that would be unsafe, or cannot run.
    func check() throws(ServiceError) {
        guard isLoopback || !keys.isEmpty || isOpenToAll else {
            throw ServiceError(
                subject: "--host \(host)",
                reason: "is open to others, and without API keys the service listens on this machine alone. "
                    + "Make keys with “lookalike-serve make-key”, or pass --open-to-all.")
        }
        if let samples, (try? FileManager.default.contentsOfDirectory(atPath: samples.path)) == nil {
            throw ServiceError(subject: samples.path, reason: "the folder of samples cannot be read.")
        }
        if let publicURL {
            guard ["http", "https"].contains(publicURL.scheme), let host = publicURL.host, !host.isEmpty,
                publicURL.query == nil, publicURL.fragment == nil, publicURL.user == nil
            else {
                throw ServiceError(
                    subject: "--public-url \(publicURL.absoluteString)",
                    reason: "is no URL such as https://shop.example/search/.")
            }
        }
        for name in publicThumbnails.sorted() where CatalogName(name) == nil {
            throw ServiceError(subject: "--public-thumbnails \(name)", reason: "is no name of a catalog.")
        }
        try webhook?.check()
        try backups?.check()
        for name in remotes.keys.sorted() where CatalogName(name) == nil {
            throw ServiceError(subject: "catalog “\(name)”", reason: CatalogName.rule)
        }
        try limits.check()
    }
}

/// What requests may take of the machine.
public struct ServiceLimits: Sendable {
    /// The bytes of memory that the service may use: those of the machine, or of the control group that it is in, by
    /// default. The limits of bodies and open catalogs are made from it, unless they are set afterwards.
    public let memory: Int
    /// The maximum number of bytes of a body; a batch has no limit as a whole.
    public var bodyBytes: Int
    /// The maximum number of bytes of a snapshot that is restored.
    public var snapshotBytes = 64 << 30
    /// The bytes that bodies in memory may take together; at least ``bodyBytes``.
    public var bodyBytesInFlight: Int
    /// The maximum number of pixels of an image.
    public var pixels = 100_000_000
    /// How long an image may take to decode.
    public var decodeTime = Duration.seconds(5)
    /// How long a search may take.
    public var requestTime = Duration.seconds(30)
    /// Image searches at once; one per processor by default, or as many as half of the memory has space for.
    public var searches: Int
    /// Image searches that wait for a place.
    public var queuedSearches = 256
    /// How long a search waits for a place. A search that would wait longer is refused at once.
    public var queueTime = Duration.seconds(1)
    /// Searches without an image at once. Searches that run together share passes over the prints.
    public var printSearches = 64
    /// Changes that wait to be written.
    public var queuedWrites = 1024
    /// The bytes that batches which run as tasks may take on disk together.
    public var taskBytes = 8 << 30
    /// The bytes of the disk of the catalogs that are left for removals: changes that need space are refused when there
    /// are fewer. 0 for none.
    public var diskReserve = 64 << 20
    /// How long after a change the right to write to a catalog is kept from other processes.
    public var writerIdleTime = Duration.seconds(5)
    /// Requests that a key, or without keys an address, may send a second; nil for any number. Those of ten seconds may
    /// come at once.
    public var requestsPerSecond: Double?
    /// Catalogs that are open at once. The one that was used least lately is closed, and opened again in milliseconds.
    public var openCatalogs: Int
    /// How long a catalog stays open after its last request.
    public var catalogIdleTime = Duration.seconds(300)
    /// Open connections.
    public var connections = 4096
    /// How long a connection may be idle. A client that reads its answer at less than 64 KiB a second for as long is
    /// disconnected, too.
    public var idleTime = Duration.seconds(60)

    /// The default limits for an amount of memory.
    ///
    /// - Parameters:
    ///   - memory: nil for what the machine or the control group has.
    ///   - searches: image searches at once; nil for the default.
    public init(memory: Int? = nil, searches: Int? = nil) {
        self.memory = memory ?? MemoryShares.available()
        self.searches =
            searches
            ?? min(ComputeExecutor.shared.threadCount, MemoryShares.mostSearches(in: self.memory))
        let shares = MemoryShares(of: self.memory, searches: self.searches)
        (bodyBytes, bodyBytesInFlight, openCatalogs) = (shares.body, shares.bodies, shares.openCatalogs)
    }

    /// What the memory is lent to.
    @_spi(Service) public var shares: MemoryShares { MemoryShares(of: memory, searches: searches) }

    var decoding: DecodingOptions {
        DecodingOptions(
            maximumPixelCount: pixels, maximumMemory: min(768 << 20, shares.largeImages), maximumByteCount: bodyBytes)
    }

    /// The limit on every limit, such as a tebibyte: more overflows somewhere.
    private static let maximumCount = 1 << 40

    func check() throws(ServiceError) {
        let counts = [
            ("body-bytes", bodyBytes), ("body-bytes-in-flight", bodyBytesInFlight), ("pixels", pixels),
            ("searches", searches), ("print-searches", printSearches), ("open-catalogs", openCatalogs),
            ("connections", connections), ("task-bytes", taskBytes), ("snapshot-bytes", snapshotBytes),
        ]
        for (name, count) in counts where !(1...Self.maximumCount).contains(count) {
            throw ServiceError(
                subject: "--\(name)", reason: "is \(count); it must be between 1 and \(Self.maximumCount).")
        }
        for (name, count) in [("queued-searches", queuedSearches), ("queued-writes", queuedWrites)]
        where !(0...Self.maximumCount).contains(count) {
            throw ServiceError(
                subject: "--\(name)", reason: "is \(count); it must be between 0 and \(Self.maximumCount).")
        }
        guard diskReserve >= 0 else {
            throw ServiceError(subject: "--disk-reserve", reason: "is \(diskReserve), less than nothing.")
        }
        let least = MemoryShares.least(searches: searches)
        guard memory >= least else {
            throw ServiceError(
                subject: "--memory",
                reason: "is \(memory >> 20) MiB; with \(searches) image searches at once the service needs "
                    + "\(least >> 20) MiB.")
        }
        guard bodyBytes <= bodyBytesInFlight else {
            throw ServiceError(
                subject: "--body-bytes",
                reason: "is \(bodyBytes), more than --body-bytes-in-flight, which is \(bodyBytesInFlight): the "
                    + "largest bodies would always be refused.")
        }
    }
}

/// Why a service cannot start.
public struct ServiceError: DescribedError, Equatable {
    /// A file, a folder, an option or a setting.
    public let subject: String
    /// What is wrong with it, and what to do.
    public let reason: String

    /// An error with what is wrong with what, and what to do.
    public init(subject: String, reason: String) {
        self.subject = subject
        self.reason = reason
    }

    public var description: String { "\(subject): \(reason)" }
}
#endif
