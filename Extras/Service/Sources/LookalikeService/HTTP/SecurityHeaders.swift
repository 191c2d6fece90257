import HTTPTypes
import Hummingbird

/// Header fields that keep browsers from doing more with an answer than is meant.
struct SecurityHeaders: RouterMiddleware {
    /// The page loads its own files alone. Images may be those that the user chose.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        + "media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    let isTLS: Bool

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers.setIfAbsent("Content-Security-Policy", Self.policy)
        response.headers.setIfAbsent("X-Content-Type-Options", "nosniff")
        response.headers.setIfAbsent("X-Frame-Options", "DENY")
        response.headers.setIfAbsent("Referrer-Policy", "no-referrer")
        response.headers.setIfAbsent("Cross-Origin-Opener-Policy", "same-origin")
        response.headers.setIfAbsent("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
        if isTLS { response.headers.setIfAbsent("Strict-Transport-Security", "max-age=31536000") }
        return response
    }
}

extension HTTPFields {
    fileprivate mutating func setIfAbsent(_ name: String, _ value: String) {
        guard let field = HTTPField.Name(name), self[field] == nil else { return }
        self[field] = value
    }
}
