import Hummingbird
import Synchronization

/// Counts, times and logs requests. The log has the route, not the path: nothing of a request but sizes.
struct MeasuringMiddleware: RouterMiddleware {
    let metrics: ServiceMetrics

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        metrics.inFlight(1)
        let response: Response
        do {
            response = try await next(request, context)
        } catch {
            metrics.inFlight(-1)
            throw error
        }
        let route = context.endpointPath ?? "none"
        let status = response.status.code
        let (received, sent) = (request.headers[.contentLength] ?? "-", response.body.contentLength)
        return response.afterBody {
            let time = ContinuousClock.now - start
            metrics.inFlight(-1)
            metrics.request(route, method: Self.name(of: request), status: status, time: time)
            context.logger.info(
                "request",
                metadata: [
                    "method": "\(Self.name(of: request))", "route": "\(route)", "status": "\(status)",
                    "received": "\(received)", "sent": "\(sent.map(String.init) ?? "-")",
                    "ms": "\(time.milliseconds)",
                ])
        }
    }

    /// Methods are names of the client's choice, and would make a series each.
    private static func name(of request: Request) -> String {
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return known.contains(request.method.rawValue) ? request.method.rawValue : "other"
    }
}

extension Response {
    /// Calls `body` when the response has been written, or could not be.
    fileprivate func afterBody(_ body: @escaping @Sendable () -> Void) -> Response {
        guard status != .notModified, self.body.contentLength != 0 else {
            body()
            return self
        }
        var response = self
        let written = self.body
        let end = ResponseEnd(body)
        response.body = ResponseBody(contentLength: written.contentLength) { writer in
            defer { end.reach() }
            try await written.write(writer)
        }
        return response
    }
}

/// Runs its closure once: when the end is reached, or when the response is dropped because its head was not written.
private final class ResponseEnd: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(body) }

    func reach() {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }

    deinit { reach() }
}
