#if Service
import Digests
public import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

#if TLS
import NIOSSL
#endif

/// Tells the program that the operator named what has happened: signed `POST` requests in the form of Standard Webhooks
/// (https://www.standardwebhooks.com, version 1.0.0), one after the other.
///
/// Requests go to one URL, which no client can change, and redirections are failures.
final class WebhookQueue: Sendable {
    private struct Event: Sendable {
        let id = "msg_" + UUID().uuidString.lowercased()
        let body: Data
    }

    private struct Envelope<Content: Encodable>: Encodable {
        let type: String
        let timestamp = TaskRecord.now
        let data: Content
    }

    private struct State {
        var waiting: [Event] = []
        var worker: Task<Void, Never>?
        /// The pause before the next attempt.
        var pause: Task<Void, Never>?
        var isClosing = false
        /// Catalogs whose changes are being collected.
        var changed: [String: Task<Void, Never>] = [:]
    }

    private struct CatalogChange: Encodable {
        let catalog: String
    }

    private let target: ServiceConfiguration.Webhook
    private let logger: Logger
    private let state = Mutex(State())

    /// Events that wait; the oldest one gives way to a new one.
    private static let mostWaiting = 256
    private static let attemptTime = Duration.seconds(10)
    /// What is left may take as long when the service ends.
    private static let closingTime = Duration.seconds(5)

    #if TLS
    static let supportsTLS = true
    #else
    static let supportsTLS = false
    #endif

    init(_ target: ServiceConfiguration.Webhook, logger: Logger) {
        self.target = target
        self.logger = logger
    }

    /// Queues an event. Its type is such as `task.ended`.
    func send(_ type: String, _ content: some Encodable) {
        let event = Event(body: Data(ByteBuffer(json: Envelope(type: type, data: content)).readableBytesView))
        let isFull = state.withLock { state in
            let isFull = state.waiting.count >= Self.mostWaiting
            if isFull { state.waiting.removeFirst() }
            state.waiting.append(event)
            if state.worker == nil { state.worker = Task { await deliver() } }
            return isFull
        }
        if isFull { logger.error("webhook: too many events wait; the oldest one is dropped") }
    }

    /// Queues an event about a catalog unless changes of it are being collected already.
    func catalogChanged(_ name: CatalogName) {
        state.withLock { state in
            guard state.changed[name.description] == nil else { return }
            state.changed[name.description] = Task {
                _ = try? await Task.sleep(for: self.target.changeInterval)
                self.state.withLock { $0.changed[name.description] = nil }
                self.send("catalog.changed", CatalogChange(catalog: name.description))
            }
        }
    }

    /// Makes an attempt for each event that waits, for some seconds.
    func close() async {
        // An ended pause sends its event.
        let changes = state.withLock { Array($0.changed.values) }
        for change in changes { change.cancel() }
        for change in changes { await change.value }
        let worker = state.withLock { state in
            state.isClosing = true
            state.pause?.cancel()
            return state.worker
        }
        let timer = Task {
            try await Task.sleep(for: Self.closingTime)
            worker?.cancel()
        }
        await worker?.value
        timer.cancel()
    }

    private func deliver() async {
        while let event = next() { await deliver(event) }
    }

    private func next() -> Event? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.worker = nil
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func deliver(_ event: Event) async {
        for (number, delay) in (target.retryDelays.map(Optional.some) + [nil]).enumerated() {
            let reason: String
            do {
                let status = try await attempt(event)
                if (200..<300).contains(status) { return }
                reason = "status \(status)"
            } catch {
                reason = "\(error)"
            }
            let isLast = state.withLock { $0.isClosing } || delay == nil
            logger.log(
                level: isLast ? .error : .warning, isLast ? "webhook: an event is given up" : "webhook failed",
                metadata: ["event": "\(event.id)", "attempt": "\(number + 1)", "error": "\(reason)"])
            guard !isLast, let delay else { return }
            await pause(delay)
        }
    }

    private func pause(_ time: Duration) async {
        let pause = Task { _ = try? await Task.sleep(for: time) }
        let isClosing = state.withLock { state in
            state.pause = pause
            return state.isClosing
        }
        if isClosing { pause.cancel() }
        await pause.value
    }

    private struct NoAnswer: Error {}

    /// Sends an event, and returns the status of the answer.
    private func attempt(_ event: Event) async throws -> Int {
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

    private func post(_ event: Event) async throws -> Int {
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
            try await request.write(.head(head))
            try await request.write(.body(.byteBuffer(ByteBuffer(bytes: event.body))))
            try await request.write(.end(nil))
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

    private func head(of event: Event, host: String) -> HTTPRequestHead {
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
                "User-Agent": "lookalike-serve", "webhook-id": event.id, "webhook-timestamp": "\(time)",
                "webhook-signature": target.signature(of: event.body, id: event.id, time: time),
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
