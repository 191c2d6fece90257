#if Service
import NIOCore
import NIOHTTP1

/// Does what HTTP/1 asks of servers and Hummingbird, which knows no versions, leaves out.
///
/// - A connection ends after the answer where the client does not ask for another one: clients of HTTP/1.0 read to the
///   end of the connection (RFC 9112, section 9.3). They get no chunks, which came with HTTP/1.1.
/// - A request has one `Host` field, which those of HTTP/1.0 may lack (RFC 9112, section 3.2). With none or several
///   the fields are removed here, and ``AccessMiddleware`` refuses the request.
final class HTTP1Rules: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Waiting {
        let version: HTTPVersion
        let staysOpen: Bool
    }

    /// The requests that have no answer yet, the oldest first.
    private var waiting: CircularBuffer<Waiting> = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let isOld = head.version.major < 1 || head.version.major == 1 && head.version.minor < 1
        let request = Waiting(version: isOld ? .http1_0 : .http1_1, staysOpen: !isOld && head.isKeepAlive)
        waiting.append(request)
        // Hummingbird knows this field, in this spelling.
        if !request.staysOpen { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        checkHost(&head.headers, isOld: isOld)
        // They get no chunks, and the length of a compressed answer is not known before.
        if isOld { head.headers.remove(name: "Accept-Encoding") }
        // Older clients know no interim answers.
        if isOld { head.headers.remove(name: "Expect") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private func checkHost(_ headers: inout HTTPHeaders, isOld: Bool) {
        let hosts = headers["Host"]
        if hosts.count == 1 { return }
        headers.remove(name: "Host")
        if hosts.isEmpty, isOld { headers.add(name: "Host", value: "") }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), head.status.code >= 200, let request = waiting.popFirst()
        else { return context.write(data, promise: promise) }
        // The encoder makes chunks for HTTP/1.1 alone.
        head.version = request.version
        if !request.staysOpen { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
#endif
