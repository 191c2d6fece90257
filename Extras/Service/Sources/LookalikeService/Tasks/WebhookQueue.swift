#if Service
import Digests
public import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import PrometheusMetrics
import Synchronization

#if TLS
import NIOSSL
#endif

/// Tells the program that the operator named what has happened: signed `POST` requests in the form of Standard Webhooks
/// (https://www.standardwebhooks.com, version 1.0.0), one after the other.
///
/// Requests go to one URL, which no client can change, and redirections are failures. Each event is a file until it was
/// taken or is given up, so that the next service goes on with it; one that was taken just before a service was killed
/// comes again, with the same id.
final class WebhookQueue: Sendable {
    /// An event that nobody has taken yet.
    private struct Event: Codable, Sendable {
        let summary: Summary
        /// What is sent.
        let body: Data
    }

    /// What is said of an event that waits.
    struct Summary: Codable, Sendable {
        let id: String
        let type: String
        let created: String
        /// The attempts that failed, and why the last one did.
        var attempts = 0
        var error: String?
    }

    private struct Waiting: Sendable {
        var summary: Summary
        let body: Data
        var due: ContinuousClock.Instant
        /// The catalog whose changes are collected until the event is due, and when that is if none is under way.
        var catalog: String?
        var collectedUntil: ContinuousClock.Instant?
        var changesUnderWay = 0
        /// Whether one of them was made.
        var isCertain = true
    }

    private struct Envelope<Content: Encodable>: Encodable {
        let type: String
        let timestamp: String
        let data: Content
    }

    private struct State {
        /// In the order in which they came.
        var waiting: [Waiting] = []
        var worker: Task<Void, Never>?
        /// The pause before the next attempt.
        var pause: Task<Void, Never>?
        var isClosing = false
    }

    private struct CatalogChange: Encodable {
        let catalog: String
    }

    private let target: ServiceConfiguration.Webhook
    private let folder: URL
    /// Nil if another service keeps its events in the folder, and while this one does not run.
    private let lock = Mutex<FolderLock?>(nil)
    private let metrics: WebhookMetrics
    private let logger: Logger
    private let state = Mutex(State())

    /// Events that wait; the oldest one gives way to a new one.
    private static let mostWaiting = 1024
    /// When an event is due whose change does not end.
    private static let longestChange = Duration.seconds(86_400)
    private static let attemptTime = Duration.seconds(10)
    /// What is left may take as long when the service ends.
    private static let closingTime = Duration.seconds(5)

    #if TLS
    static let supportsTLS = true
    #else
    static let supportsTLS = false
    #endif

    /// - Parameter folder: where the events are kept.
    init(
        _ target: ServiceConfiguration.Webhook, folder: URL, registry: PrometheusRegistry, logger: Logger
    ) {
        self.target = target
        self.folder = folder
        self.logger = logger
        metrics = WebhookMetrics(registry)
    }

    /// Goes on with the events that the service before has left.
    func load() {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let own = FolderLock(folder)
        guard !own.isTaken, let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else {
            return
        }
        lock.withLock { $0 = own }
        let events = names.compactMap { name in
            (try? Data(contentsOf: folder.appendingPathComponent(name)))
                .flatMap { try? JSONDecoder().decode(Event.self, from: $0) }
        }
        for event in events.sorted(by: { $0.summary.created < $1.summary.created }) {
            add(Waiting(summary: event.summary, body: event.body, due: .now))
        }
    }

    /// The events that wait.
    var summaries: [Summary] { state.withLock { $0.waiting.map(\.summary) } }

    /// Queues an event. Its type is such as `task.ended`.
    func send(_ type: String, _ content: some Encodable) { send(type, content, collecting: nil) }

    /// Records an event about a catalog before it is changed, so that a service that is killed right after the change
    /// has left it. Changes that come while the event waits are collected in it.
    ///
    /// - Returns: what is called after the change, with whether there was one.
    func catalogWillChange(_ name: CatalogName) -> @Sendable (Bool) -> Void {
        let name = name.description
        let collected = state.withLock { state -> String? in
            let index = state.waiting.firstIndex {
                $0.catalog == name && $0.due > .now && $0.summary.attempts == 0
            }
            guard let index else { return nil }
            state.waiting[index].changesUnderWay += 1
            state.waiting[index].due = .now + Self.longestChange
            return state.waiting[index].summary.id
        }
        let id = collected ?? send("catalog.changed", CatalogChange(catalog: name), collecting: name)
        return { self.changeEnded(id, isMade: $0) }
    }

    private func changeEnded(_ id: String, isMade: Bool) {
        let needless = state.withLock { state -> Waiting? in
            guard let index = state.waiting.firstIndex(where: { $0.summary.id == id }) else { return nil }
            defer { metrics.waiting(state.waiting.count) }
            state.waiting[index].changesUnderWay -= 1
            state.waiting[index].isCertain = state.waiting[index].isCertain || isMade
            guard state.waiting[index].changesUnderWay == 0 else { return nil }
            if !state.waiting[index].isCertain { return state.waiting.remove(at: index) }
            // It is not due yet unless the service ends.
            if state.waiting[index].due > .now, let due = state.waiting[index].collectedUntil {
                state.waiting[index].due = due
            }
            state.pause?.cancel()
            return nil
        }
        if let needless { forget(needless) }
    }

    @discardableResult
    private func send(_ type: String, _ content: some Encodable, collecting catalog: String?) -> String {
        let summary = Summary(id: "msg_" + UUID().uuidString.lowercased(), type: type, created: TaskRecord.now)
        let envelope = Envelope(type: type, timestamp: summary.created, data: content)
        let body = Data(ByteBuffer(json: envelope).readableBytesView)
        var event = Waiting(summary: summary, body: body, due: .now)
        if let catalog {
            (event.catalog, event.collectedUntil) = (catalog, .now + target.changeInterval)
            (event.due, event.changesUnderWay, event.isCertain) = (.now + Self.longestChange, 1, false)
        }
        keep(event)
        add(event)
        return summary.id
    }

    private func add(_ event: Waiting) {
        let dropped = state.withLock { state -> Waiting? in
            let dropped = state.waiting.count >= Self.mostWaiting ? state.waiting.removeFirst() : nil
            state.waiting.append(event)
            if state.worker == nil { state.worker = Task { await deliver() } }
            state.pause?.cancel()
            metrics.waiting(state.waiting.count)
            return dropped
        }
        guard let dropped else { return }
        logger.error("webhook: too many events wait; the oldest one is dropped")
        metrics.ended(.dropped)
        forget(dropped)
    }

    private func file(of event: Waiting) -> URL { folder.appendingPathComponent(event.summary.id) }

    /// Writes the file of an event. On a full disk it is in memory alone.
    private func keep(_ event: Waiting) {
        guard lock.withLock({ $0 != nil }) else { return }
        let data = ByteBuffer(json: Event(summary: event.summary, body: event.body))
        try? Data(data.readableBytesView).write(to: file(of: event), options: .atomic)
    }

    private func forget(_ event: Waiting) { try? FileManager.default.removeItem(at: file(of: event)) }

    /// Makes an attempt for each event that waits, for some seconds.
    func close() async {
        let worker = state.withLock { state in
            state.isClosing = true
            for index in state.waiting.indices { state.waiting[index].due = .now }
            state.pause?.cancel()
            return state.worker
        }
        let timer = Task {
            try await Task.sleep(for: Self.closingTime)
            worker?.cancel()
        }
        await worker?.value
        timer.cancel()
        lock.withLock { $0 = nil }
    }

    private func deliver() async {
        while let event = next() {
            if event.due > .now { await pause(until: event.due) } else { await deliver(event) }
        }
    }

    /// The event that is due first; nil if there is none.
    private func next() -> Waiting? {
        state.withLock { state in
            let next = state.waiting.min { $0.due < $1.due }
            if next == nil || Task.isCancelled {
                state.worker = nil
                return nil
            }
            return next
        }
    }

    private func deliver(_ event: Waiting) async {
        var event = event
        do {
            let status = try await attempt(event)
            if (200..<300).contains(status) {
                forget(event)
                metrics.ended(.delivered)
                return replace(event, by: nil)
            }
            event.summary.error = "status \(status)"
        } catch {
            event.summary.error = "\(error)"
        }
        let delay = target.retryDelays.dropFirst(event.summary.attempts).first
        event.summary.attempts += 1
        metrics.failed()
        logger.log(
            level: delay == nil ? .error : .warning, delay == nil ? "webhook: an event is given up" : "webhook failed",
            metadata: [
                "event": "\(event.summary.id)", "attempt": .stringConvertible(event.summary.attempts),
                "error": "\(event.summary.error ?? "")",
            ])
        if let delay {
            event.due = .now + delay
            keep(event)
        } else {
            forget(event)
            metrics.ended(.dropped)
        }
        let isClosing = state.withLock { $0.isClosing }
        replace(event, by: delay == nil || isClosing ? nil : event)
    }

    private func replace(_ event: Waiting, by new: Waiting?) {
        state.withLock { state in
            if let index = state.waiting.firstIndex(where: { $0.summary.id == event.summary.id }) {
                if let new { state.waiting[index] = new } else { state.waiting.remove(at: index) }
            }
            metrics.waiting(state.waiting.count)
        }
    }

    private func pause(until due: ContinuousClock.Instant) async {
        let pause = Task { _ = try? await Task.sleep(until: due, clock: .continuous) }
        state.withLock { state in
            state.pause = pause
            // Something came meanwhile, or the service ends.
            if state.waiting.contains(where: { $0.due < due }) { pause.cancel() }
        }
        await pause.value
    }

    private struct NoAnswer: Error {}

    /// Sends an event, and returns the status of the answer.
    private func attempt(_ event: Waiting) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await self.post(event) }
            group.addTask {
                try await Task.sleep(for: Self.attemptTime)
                throw NoAnswer()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? 0
        }
    }

    private func post(_ event: Waiting) async throws -> Int {
        let url = target.url
        let host = (url.host ?? "").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        let isTLS = url.scheme == "https"
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.init(Self.attemptTime))
            .connect(host: host, port: url.port ?? (isTLS ? 443 : 80)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isTLS { try Self.addTLS(to: channel, host: host) }
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                        wrappingChannelSynchronously: channel)
                }
            }
        let head = head(of: event, host: host)
        return try await channel.executeThenClose { answer, request in
            // A program may answer and close before a part that comes later.
            try await request.write(
                contentsOf: [.head(head), .body(.byteBuffer(ByteBuffer(bytes: event.body))), .end(nil)])
            for try await case .head(let head) in answer where head.status.code >= 200 {
                return Int(head.status.code)
            }
            throw NoAnswer()
        }
    }

    private static func addTLS(to channel: any Channel, host: String) throws {
        #if TLS
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        // Addresses have no names to be checked (RFC 6066, section 3).
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
        #endif
    }

    private func head(of event: Waiting, host: String) -> HTTPRequestHead {
        let url = target.url
        let path = url.path(percentEncoded: true)
        let uri = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
        let time = Int(Date().timeIntervalSince1970)
        let name = host.contains(":") ? "[\(host)]" : host
        return HTTPRequestHead(
            version: .http1_1, method: .POST, uri: uri,
            headers: [
                "Host": name + (url.port.map { ":\($0)" } ?? ""), "Connection": "close",
                "Content-Type": "application/json", "Content-Length": "\(event.body.count)",
                "User-Agent": "lookalike-serve", "webhook-id": event.summary.id, "webhook-timestamp": "\(time)",
                "webhook-signature": target.signature(of: event.body, id: event.summary.id, time: time),
            ])
    }
}

extension ServiceConfiguration.Webhook {
    /// The secret that a text states: base64 after `whsec_`, or the text itself without white space around it; nil for
    /// other text after `whsec_`.
    public static func secret(_ text: String) -> Data? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let prefix = "whsec_"
        return text.hasPrefix(prefix)
            ? Data(base64Encoded: String(text.dropFirst(prefix.count))) : Data(text.utf8)
    }

    /// The signature of a request (Standard Webhooks, “Signature scheme”).
    @_spi(Service) public func signature(of body: Data, id: String, time: Int) -> String {
        "v1," + HMAC.sha256(of: Data("\(id).\(time).".utf8) + body, key: secret).base64EncodedString()
    }
}
#endif
