import Hummingbird

/// Answers errors with problem details.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let response = response(to: error, context)
            // A body would be taken for the next answer (RFC 9110, section 9.3.2).
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func response(to error: any Error, _ context: ServiceContext) -> Response {
        switch error {
        case let error as HTTPError where error.status == .notFound:
            return Problem(.unknownPath, "There is nothing at this path.").response()
        case let error as HTTPError:
            return Problem(.invalidRequest, "The request cannot be read (\(error.status.code)).").response()
        default:
            let problem = Problem(error)
            if problem.code == .inner || problem.code == .storage {
                // The error names files of the server, and nothing of the request.
                context.logger.error("request failed", metadata: ["error": "\(error)"])
            }
            return problem.response()
        }
    }
}
