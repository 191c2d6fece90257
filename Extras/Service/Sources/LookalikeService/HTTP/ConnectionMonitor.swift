#if Service
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Synchronization

/// Whether the client of a connection is still there.
final class Connection: Sendable {
    private struct State {
        var isClosed = false
        var next = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())
    /// Whether there were too many connections when it came.
    let isExtra: Bool

    init(isExtra: Bool = false) { self.isExtra = isExtra }

    /// Calls `body` when the client goes away, now if it is gone. Returns a number to forget it by.
    func onClose(_ body: @escaping @Sendable () -> Void) -> Int? {
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.handlers[state.next] = body
            return state.next
        }
        if number == nil { body() }
        return number
    }

    func forget(_ number: Int?) {
        guard let number else { return }
        state.withLock { $0.handlers[number] = nil }
    }

    func close() {
        let handlers = state.withLock { state in
            state.isClosed = true
            defer { state.handlers = [:] }
            return state.handlers.values
        }
        for handler in handlers { handler() }
    }
}

/// Notices that a client closed its connection while its request is worked on, and closes the connection of a client
/// that does not read its answer, or reads it too slowly.
///
/// A client that closes only its sending side counts as gone, too: a server cannot tell the two apart before it writes.
final class ConnectionMonitor: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private static let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    private var connection = Connection()
    private let table: ConnectionTable
    private let pace: AnswerPace
    /// The next look at the pace; nil unless more waits to be sent than the connection takes.
    private var closing: Scheduled<Void>?

    /// - Parameter idleTime: how long a client may read nothing of an answer, or less than ``AnswerPace`` allows.
    init(idleTime: Duration, table: ConnectionTable) {
        pace = AnswerPace(idleTime: idleTime)
        self.table = table
    }

    static func connection(of channel: any Channel) -> Connection? {
        connections.withLock { $0[ObjectIdentifier(channel)] }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let key = ObjectIdentifier(context.channel)
        connection = Connection(isExtra: table.add(context.channel))
        Self.connections.withLock { [connection] in $0[key] = connection }
        // Behind the decoder: Hummingbird's parts of requests have no version.
        let operations = context.pipeline.syncOperations
        do {
            let decoder = try operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try operations.addHandler(HTTP1Rules(), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        let key = ObjectIdentifier(context.channel)
        Self.connections.withLock { $0[key] = nil }
        table.remove(context.channel)
        connection.close()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) { table.begin(context.channel) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { table.end(context.channel) }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { connection.close() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        closing?.cancel()
        closing = nil
        if !context.channel.isWritable {
            let (channel, monitor) = (context.channel, NIOLoopBound(self, eventLoop: context.eventLoop))
            channel.getOption(.bufferedWritableBytes).whenSuccess { monitor.value.watch(channel, waiting: $0) }
        }
        context.fireChannelWritabilityChanged()
    }

    /// Closes the channel if too little of its answer has been sent after the idle time.
    ///
    /// - Parameter count: the bytes that wait to be sent now.
    private func watch(_ channel: any Channel, waiting count: Int) {
        let monitor = NIOLoopBound(self, eventLoop: channel.eventLoop)
        closing = channel.eventLoop.scheduleTask(in: TimeAmount(pace.idleTime)) {
            channel.getOption(.bufferedWritableBytes).whenComplete { result in
                guard let left = try? result.get(), monitor.value.pace.allows(waiting: count, then: left) else {
                    return channel.close(promise: nil)
                }
                monitor.value.watch(channel, waiting: left)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        connection.close()
        context.fireChannelInactive()
    }
}

/// The open connections of a service.
///
/// When there are too many, the one that has been idle for longest is closed for a new one. If all are at work, a new
/// one gets an error.
final class ConnectionTable: Sendable {
    private struct Entry {
        let channel: any Channel
        /// Requests without an answer.
        var requests = 0
        /// Since when there was no request, or the connection came.
        var idle = ContinuousClock.now
    }

    private let limit: Int
    private let state = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Connections beyond the limit that are accepted, so that they get an error.
    static let extra = 32
    /// How long the request of a new connection may be on its way. Of many that come at once, some are closed sooner.
    private static let grace = Duration.seconds(1)

    init(limit: Int) { self.limit = limit }

    /// Whether more connections are at work than may be.
    var isFull: Bool { state.withLock { $0.values.count { $0.requests > 0 } > limit } }

    /// Adds a connection, and closes an idle one if there are too many.
    ///
    /// - Returns: whether there are too many, and none was idle.
    func add(_ channel: any Channel) -> Bool {
        let new = Entry(channel: channel)
        let (isExtra, idlest) = state.withLock { entries -> (Bool, (any Channel)?) in
            defer { entries[ObjectIdentifier(channel)] = new }
            guard entries.count >= limit else { return (false, nil) }
            let idle = entries.filter { $0.value.requests == 0 }.min { $0.value.idle < $1.value.idle }
            guard let (key, entry) = idle,
                new.idle - entry.idle > Self.grace || entries.count >= limit + Self.extra / 2
            else { return (true, nil) }
            entries[key] = nil
            return (false, entry.channel)
        }
        idlest?.close(promise: nil)
        return isExtra
    }

    func remove(_ channel: any Channel) { state.withLock { $0[ObjectIdentifier(channel)] = nil } }

    func begin(_ channel: any Channel) { state.withLock { $0[ObjectIdentifier(channel)]?.requests += 1 } }

    func end(_ channel: any Channel) {
        let now = ContinuousClock.now
        state.withLock { entries in
            entries[ObjectIdentifier(channel)]?.requests -= 1
            entries[ObjectIdentifier(channel)]?.idle = now
        }
    }
}

/// Refuses what comes on a connection for which there is no room, except for health checks.
struct ConnectionLimit: RouterMiddleware {
    let table: ConnectionTable

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        if context.connection?.isExtra ?? false, table.isFull, !request.uri.path.hasPrefix("/health/") {
            throw Problem(
                .overloaded, "All connections are at work; try again.",
                headers: [.retryAfter: "1", .connection: "close"])
        }
        return try await next(request, context)
    }
}

/// Whether an answer is read fast enough to be kept meanwhile.
///
/// A client that reads a little now and then would keep its answer and its connection for as long as it likes.
@_spi(Service) public struct AnswerPace: Sendable {
    /// How long a client may take for as many bytes as ``BodyPace`` asks for in that time.
    @_spi(Service) public let idleTime: Duration

    @_spi(Service) public init(idleTime: Duration) { self.idleTime = idleTime }

    /// Whether a client has read enough in an idle time.
    ///
    /// - Parameters:
    ///   - before: the bytes that waited to be sent an idle time ago.
    ///   - left: the bytes that wait now.
    @_spi(Service) public func allows(waiting before: Int, then left: Int) -> Bool {
        let seconds: Double = idleTime / .seconds(1)
        return left == 0 || Double(before - left) >= seconds * Double(BodyPace.slowestBytesPerSecond)
    }
}
#endif
