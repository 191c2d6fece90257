#if Service
import HTTPTypes
import Hummingbird
import NIOCore

/// Header fields that keep browsers from doing more with an answer than is meant, besides those of Hummingbird's
/// `ContentSecurityMiddleware`.
struct BrowserHeaders: RouterMiddleware {
    private let fields: HTTPFields

    init(isTLS: Bool) {
        var values = [
            "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
        ]
        if isTLS { values["Strict-Transport-Security"] = "max-age=31536000" }
        fields = HTTPFields(
            values.sorted(by: <).compactMap { name, value in
                HTTPField.Name(name).map { HTTPField(name: $0, value: value) }
            })
    }

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers.append(contentsOf: fields)
        return response
    }
}

extension ContentSecurityPolicy {
    /// The page loads its own files alone. Images may be those that the user chose.
    static let page: Self = [
        .defaultSrc(.none), .scriptSrc(.self), .styleSrc(.self), .imgSrc(.self, "blob:", "data:"), .connectSrc(.self),
        .mediaSrc(.self, "blob:"), .manifestSrc(.self), .baseURI(.none), .formAction(.none), .frameAncestors(.none),
    ]
}

/// Lets the pages of some other origins use the service, by Hummingbird's `CORSMiddleware`. Alone it would answer the
/// preflight requests of every origin, since its list of origins cannot come from a configuration.
struct AllowedOrigins: RouterMiddleware {
    let origins: Set<String>

    private let answers = CORSMiddleware<ServiceContext>(
        allowOrigin: .originBased,
        allowHeaders: [.authorization, .contentType, .ifMatch, .ifNoneMatch]
            + [AccessMiddleware.keyField, HTTPField.Name("Prefer"), RequestIDs.field].compactMap(\.self),
        allowMethods: [.get, .post, .put, .patch, .delete], maxAge: .minutes(10))

    /// The headers that scripts may read, besides those that they always may.
    private static let readable =
        "ETag, Location, Retry-After, Content-Disposition, Preference-Applied, Repr-Digest, X-Request-Id, X-Undo"

    init(_ origins: Set<String>) { self.origins = origins }

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        if origins.isEmpty { return try await next(request, context) }
        let isAllowed = request.headers[.origin].map(origins.contains) ?? false
        var response =
            if isAllowed {
                try await answers.handle(request, context: context, next: next)
            } else {
                try await next(request, context)
            }
        // The middleware says it to preflight requests alone, whose answers nobody reads.
        if isAllowed { response.headers[.accessControlExposeHeaders] = Self.readable }
        // A cache must not give one origin what another was answered (RFC 9110, section 12.5.5).
        if !response.headers[values: .vary].contains(where: { $0.lowercased().contains("origin") }) {
            response.headers.append(HTTPField(name: .vary, value: "Origin"))
        }
        return response
    }
}
#endif
