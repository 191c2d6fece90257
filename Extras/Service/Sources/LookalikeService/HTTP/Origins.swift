import HTTPTypes
import Hummingbird

/// Lets the pages of some other origins use the service (CORS).
///
/// Source: https://fetch.spec.whatwg.org/, section 3.2.
struct Origins: RouterMiddleware {
    let allowed: Set<String>

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard let origin = request.headers[.origin], allowed.contains(origin) else {
            return try await next(request, context)
        }
        var response: Response
        if request.method == .options {
            response = Response(
                status: .noContent,
                headers: [
                    .accessControlAllowMethods: "GET, POST, PUT, PATCH, DELETE",
                    .accessControlAllowHeaders: "Authorization, Content-Type, X-API-Key",
                    .accessControlMaxAge: "600",
                ])
        } else {
            response = try await next(request, context)
        }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.vary] = "Origin"
        return response
    }
}
