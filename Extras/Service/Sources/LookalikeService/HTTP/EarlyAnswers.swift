#if Service
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Synchronization

/// Answers a request as soon as its head is there if that says that it will be refused, and passes over bodies that
/// nobody needs.
///
/// Most clients send their body to its end before they read an answer. What comes after an answer is dropped as it
/// comes, for ``lingerTime`` at most: then the connection ends. After a refusal, the next request of the connection is
/// read a little later: a client that tries again at once would have a processor to itself.
final class EarlyAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The answer to a request that will be refused; nil for one that has to be looked at.
    typealias Refusal = @Sendable (HTTPRequest, any Channel) -> Answer?

    struct Answer {
        var head: HTTPResponse
        let body: ByteBuffer
        /// Whether all requests of the connection are those of one client.
        let isOfOneClient: Bool
    }

    /// What of a request is on its way.
    private enum Body {
        case none, wanted
        /// It was answered before.
        case unwanted
        /// Nobody else saw the head.
        case refused
    }

    private static let lingerTime = TimeAmount.seconds(5)
    private static let restTime = TimeAmount.milliseconds(50)
    /// A client with a longer body is asked to end the connection instead of sending it.
    private static let mostSkipped = 1 << 20

    private let refusal: Refusal
    private var body = Body.none
    /// The requests that were passed on and have no answer yet.
    private var unanswered = 0
    private var endsConnection = false
    private var closing: Scheduled<Void>?
    private var rests = false
    private var isResting = false
    private var wasAskedToRead = false
    /// What was read already when the rest began: the next requests of a client that did not await the answer's end.
    private var held: [Result<NIOAny, any Error>] = []
    private var parserError: HTTPParserError?

    init(refusal: @escaping Refusal) { self.refusal = refusal }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isResting { return held.append(.success(data)) }
        switch unwrapInboundIn(data) {
        case .head(var head):
            // What comes behind a request that ends the connection is not read.
            if endsConnection { return }
            let expectsMore = head.headerFields[.expect]?.lowercased() == "100-continue"
            if unanswered == 0, let answer = refusal(head, context.channel) {
                let length = head.headerFields[.contentLength].map { Int($0) ?? .max } ?? 0
                let isLong = length > Self.mostSkipped || head.headerFields[.transferEncoding] != nil
                refuse(answer, context, ends: expectsMore || isLong || head.headerFields[.connection] == "close")
                return
            }
            unanswered += 1
            body = .wanted
            // Where another answer is under way, it must not be interrupted, and the client does not wait for long.
            if expectsMore, unanswered == 1 {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            head.headerFields[.expect] = nil
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body:
            if body == .wanted { context.fireChannelRead(data) }
        case .end:
            let wasRefused = body == .refused
            body = .none
            if endsConnection { return context.close(promise: nil) }
            closing?.cancel()
            closing = nil
            if wasRefused {
                if rests { rest(context) }
            } else {
                // Whoever had the head awaits the end.
                context.fireChannelRead(data)
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if body == .unwanted || body == .refused { linger(context) }
    }

    func read(context: ChannelHandlerContext) { if isResting { wasAskedToRead = true } else { context.read() } }

    /// Reads nothing for a while.
    private func rest(_ context: ChannelHandlerContext) {
        isResting = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.restTime) {
            let (handler, context) = bound.value
            handler.isResting = false
            let held = handler.held
            handler.held = []
            for part in held {
                switch part {
                case .success(let data): handler.channelRead(context: context, data: data)
                case .failure(let error): handler.errorCaught(context: context, error: error)
                }
            }
            if !held.isEmpty { handler.channelReadComplete(context: context) }
            if handler.wasAskedToRead, !handler.isResting {
                handler.wasAskedToRead = false
                context.read()
            }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where parserError != nil && head.headerFields[.contentLength] == "0":
            let text = "The request is not HTTP/1.1: \(parserError.map { "\($0)" } ?? "")."
            let content = ByteBuffer(json: Problem(.invalidRequest, text).body)
            head.headerFields[.contentType] = "application/problem+json"
            head.headerFields[.contentLength] = "\(content.readableBytes)"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
            context.write(wrapOutboundOut(.body(content)), promise: nil)
        case .end:
            unanswered -= 1
            context.write(data, promise: promise)
            guard body == .wanted, unanswered == 0 else { return }
            body = .unwanted
            linger(context)
        default:
            context.write(data, promise: promise)
        }
    }

    private func refuse(_ answer: Answer, _ context: ChannelHandlerContext, ends: Bool) {
        body = .refused
        endsConnection = ends
        rests = answer.isOfOneClient
        var head = answer.head
        head.headerFields[.contentLength] = "\(answer.body.readableBytes)"
        if ends { head.headerFields[.connection] = "close" }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(answer.body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Reads on, and closes the connection unless the body ends in time. Nobody else asks for more while there are
    /// parts of the body that were not taken.
    private func linger(_ context: ChannelHandlerContext) {
        let channel = context.channel
        closing = closing ?? channel.eventLoop.scheduleTask(in: Self.lingerTime) { channel.close(promise: nil) }
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isResting { return held.append(.failure(error)) }
        if let error = error as? HTTPParserError { parserError = error }
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }
}

/// Refuses searches for images by their heads when there is no place for them, without the router: those that come to a
/// service with too much to do are many.
struct EarlyRefusals: Sendable {
    let access: AccessMiddleware
    let state: ServiceState

    private static let route = "/v1/catalogs/{catalog}/search"
    /// Few texts are different.
    private static let bodies = Mutex<[String: ByteBuffer]>([:])
    private static let mostBodies = 100

    func answer(to head: HTTPRequest, on channel: any Channel) -> EarlyAnswers.Answer? {
        let peer = channel.remoteAddress?.ipAddress ?? ""
        guard let (sender, problem) = access.refusal(of: head, from: peer, in: state.imagePool) else { return nil }
        let body = Self.bodies.withLock { bodies in
            if let known = bodies[problem.detail] { return known }
            if bodies.count >= Self.mostBodies { bodies = [:] }
            let new = ByteBuffer(json: problem.body)
            bodies[problem.detail] = new
            return new
        }
        let id = RequestIDs.id(in: head.headerFields)
        var fields = problem.responseHeaders
        if let field = RequestIDs.field { fields[field] = id }
        state.metrics.request(Self.route, method: "POST", status: problem.status.code, time: .zero)
        if state.configuration.logsRequests {
            let identity = RequestIdentity(address: sender.address)
            (identity.id, identity.key) = (id, sender.key?.name)
            MeasuringMiddleware.log(
                head, Self.route, problem.status.code, sent: body.readableBytes, time: .zero, identity, state.logger)
        }
        return EarlyAnswers.Answer(
            head: HTTPResponse(status: problem.status, headerFields: fields), body: body,
            isOfOneClient: sender.address == peer)
    }
}
#endif
