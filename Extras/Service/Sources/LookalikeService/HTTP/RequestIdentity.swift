#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Synchronization

/// Who sent a request, as logs name it. Middleware finds it out step by step.
final class RequestIdentity: Sendable {
    private struct State {
        var id = ""
        var address: String
        var key: String?
    }

    private let state: Mutex<State>

    init(address: String) { state = Mutex(State(address: address)) }

    /// The id of the request, which clients and proxies may give.
    var id: String {
        get { state.withLock { $0.id } }
        set { state.withLock { $0.id = newValue } }
    }

    /// The address of the client.
    var address: String {
        get { state.withLock { $0.address } }
        set { state.withLock { $0.address = newValue } }
    }

    /// The name of the key; nil without one.
    var key: String? {
        get { state.withLock { $0.key } }
        set { state.withLock { $0.key = newValue } }
    }
}

/// Gives each request an id, the client's own if it sends one, and answers with it. All that is logged about a request
/// has its id.
struct RequestIDs: RouterMiddleware {
    static let field = HTTPField.Name("X-Request-Id")

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard let field = Self.field else { return try await next(request, context) }
        let id = Self.id(in: request.headers)
        context.identity.id = id
        var context = context
        context.logger[metadataKey: "hb.request.id"] = nil
        context.logger[metadataKey: "request"] = "\(id)"
        var response = try await next(request, context)
        response.headers[field] = id
        return response
    }

    /// The client's own id, or a new one.
    static func id(in fields: HTTPFields) -> String {
        field.flatMap { fields[$0] }.flatMap { isUsable($0) ? $0 : nil } ?? UUID().uuidString.lowercased()
    }

    /// Whether an id can be in a log: short, and without spaces and quotes.
    private static func isUsable(_ id: String) -> Bool {
        (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            }
    }
}
#endif
