#if Service
import Hummingbird

/// `/v1/access`: what a request may do, so that a page offers nothing that would be refused.
struct AccessHandler: Sendable {
    struct Answer: Encodable, Sendable {
        /// `read` or `write`; nil for a request without a key where one is needed.
        let scope: String?
    }

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(Answer(scope: context.scope?.rawValue))
    }
}
#endif
