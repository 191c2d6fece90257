import Hummingbird

/// Answers errors with problem details.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return Problem(.unknownPath, "There is nothing at this path.").response()
        } catch let error as HTTPError {
            return Problem(.invalidRequest, "The request cannot be read (\(error.status.code)).").response()
        } catch {
            let problem = Problem(error)
            if problem.code == .inner || problem.code == .storage {
                // The error names files of the server, and nothing of the request.
                context.logger.error("request failed", metadata: ["error": "\(error)"])
            }
            return problem.response()
        }
    }
}
