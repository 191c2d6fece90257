#if Service
import Foundation
import HTTPTypes
import Hummingbird

/// Refuses compressed bodies: they would be taken for what they are not.
///
/// Images are compressed already, and a small body could become one of any size.
struct ContentEncodingMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let encodings = request.headers[values: .contentEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && $0.lowercased() != "identity" }
        guard encodings.isEmpty else {
            throw Problem(
                .unsupportedMediaType,
                "The body has the Content-Encoding “\(encodings.joined(separator: ", ").prefix(64))”. Compressed bodies are "
                    + "not read; send it as it is.",
                headers: [.acceptEncoding: "identity"])
        }
        return try await next(request, context)
    }
}
#endif
