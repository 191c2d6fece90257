#if Service
import HTTPTypes
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
final class ConnectionMonitor: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private static let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    private let connection = Connection()
    private let pace: AnswerPace
    /// The next look at the pace; nil unless more waits to be sent than the connection takes.
    private var closing: Scheduled<Void>?

    /// - Parameter idleTime: how long a client may read nothing of an answer, or less than ``AnswerPace`` allows.
    init(idleTime: Duration) { pace = AnswerPace(idleTime: idleTime) }

    static func connection(of channel: any Channel) -> Connection? {
        connections.withLock { $0[ObjectIdentifier(channel)] }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let key = ObjectIdentifier(context.channel)
        Self.connections.withLock { $0[key] = connection }
        // Behind the decoder: Hummingbird's parts of requests have no version.
        let operations = context.pipeline.syncOperations
        do {
            let decoder = try operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try operations.addHandler(ConnectionPersistence(), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        let key = ObjectIdentifier(context.channel)
        Self.connections.withLock { $0[key] = nil }
        connection.close()
    }

    /// Answers a client that waits before it sends a body (RFC 9110, section 10.1.1), as curl does for a second. The
    /// key and the length are checked later, as for clients that do not wait.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data), head.headerFields[.expect]?.lowercased() == "100-continue" {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
        }
        context.fireChannelRead(data)
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
