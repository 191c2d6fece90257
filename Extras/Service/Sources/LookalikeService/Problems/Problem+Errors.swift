#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Lookalike
import Multipart
import NIOCore
import NIOHTTP1

extension Problem {
    /// The problem that a client gets for an error.
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as ImageError: self.init(error.reason)
        case let error as CatalogError: self.init(error.reason)
        case let error as any RemoteCatalogError: self.init(error.failure)
        case let error as IndexProblem: self.init(.unusableImage, "The image \(error.reason).")
        case let error as ModelError where error.reason == .readsNoTexts:
            self.init(.invalidRequest, "The catalog's model reads images alone, so that words find nothing.")
        case let error as ModelError: self.init(.unusableImage, "The image cannot be embedded: \(error.reason).")
        case FeaturePrintError.differentModels: self.init(.otherModel, "\(error).")
        case is FeaturePrintError: self.init(.invalidRequest, "\(error).")
        case let error as PixelBufferError: self.init(.unusableImage, "\(error).")
        case let error as MultipartError: self.init(.invalidForm, "\(error).")
        case let error as DecodingError: self.init(error)
        case is HTTPParserError: self.init(.invalidRequest, "The body's framing is not that of HTTP/1.1.")
        case is NIOTooManyBytesError: self.init(.bodyTooLarge, "The body is larger than the limit.")
        case is CancellationError: self.init(.cancelled, "The client closed the connection.")
        case is CocoaError, is POSIXError: self = .files
        // Foundation's file handles throw these.
        case let error as NSError where [NSCocoaErrorDomain, NSPOSIXErrorDomain].contains(error.domain): self = .files
        default: self.init(.inner, "The request failed; the log has more.")
        }
    }

    /// An error of the file system names paths of the server.
    private static var files: Problem {
        Problem(.storage, "The files of the catalog cannot be read or written; the log has more.")
    }

    private init(_ reason: ImageError.Reason) {
        let detail = "The image \(reason)."
        switch reason {
        case .unsupported: self.init(.unsupportedImage, detail)
        case .tooManyPixels, .sideTooLong, .tooManyScans, .tooMuchMemory, .fileTooLarge:
            self.init(.imageTooLarge, detail)
        // These reasons have the path of a file on the server.
        case .unreadable, .notAFile, .unwritable: self.init(.storage, "An image of the catalog cannot be read.")
        default: self.init(.unusableImage, detail)
        }
    }

    private init(_ reason: CatalogError.Reason) {
        switch reason {
        case .missing: self.init(.unknownCatalog, "There is no catalog of this name.")
        case .unknownEntities(let ids):
            self.init(.unknownEntity, "The catalog has no entity \(ids.map { "“\($0)”" }.joined(separator: ", ")).")
        case .unknownAttribute:
            self.init(.unknownAttribute, CatalogError(subject: "the catalog", reason: reason).description)
        case .incomparable:
            self.init(.incomparableAttribute, CatalogError(subject: "the catalog", reason: reason).description)
        case .unknownType: self.init(.unknownType, CatalogError(subject: "the catalog", reason: reason).description)
        case .busy:
            self.init(
                .catalogBusy, "Another process is writing to this catalog; try again when it has finished.",
                headers: [.retryAfter: "5"])
        case .otherModel(let catalog, let given):
            self.init(.otherModel, "The prints of the catalog were made with model \(catalog), not with \(given).")
        case .unsearchable:
            self.init(
                .storage,
                "The change is stored and stays, but the files that searches read could not be written, as on a full "
                    + "disk. They are made by the next change that finds space, or at the next start.")
        default: self.init(.storage, "The catalog cannot be read or written; the log has more.")
        }
    }

    private init(_ failure: RemoteFailure) {
        switch failure {
        case .unavailable: self.init(.unavailable, "The database of the catalog does not answer; try again.")
        case .search(let words): self.init(.invalidRequest, "The database of the catalog cannot answer this: \(words).")
        case .other: self.init(.storage, "The catalog cannot be read or written; the log has more.")
        }
    }

    private init(_ error: DecodingError) {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.isEmpty ? "" : "“\(context.codingPath.map(\.stringValue).joined(separator: "."))”: "
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.invalidJSON, "\(path(context))“\(key.stringValue)” is missing.")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            self.init(.invalidJSON, path(context) + context.debugDescription)
        @unknown default: self.init(.invalidJSON, "The body is not the JSON that is expected.")
        }
    }
}

/// Answers errors with problem details.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let response = response(to: error, request, context)
            // The client would take a body for the next answer (RFC 9110, section 9.3.2).
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func response(to error: any Error, _ request: Request, _ context: ServiceContext) -> Response {
        switch error {
        case let error as HTTPError where error.status == .notFound:
            if isOfBrowser(request) { return Self.wrongLink(request.uri.path) }
            return Problem(.unknownPath, "There is nothing at this path.").response()
        case let error as HTTPError:
            return Problem(.invalidRequest, "The request cannot be read (\(error.status.code)).").response()
        default:
            let problem = Problem(error)
            if [.inner, .storage, .unavailable].contains(problem.code) {
                // The error names files of the server, and the log has nothing of the request.
                context.logger.error("request failed", metadata: ["error": "\(error)"])
            }
            return problem.response()
        }
    }

    /// Whether a person opened the link, and not a program a path of the interface.
    private func isOfBrowser(_ request: Request) -> Bool {
        [.get, .head].contains(request.method) && !request.uri.path.hasPrefix("/v1/")
            && request.headers[values: .accept].contains { $0.contains("text/html") }
    }

    /// A page for people. Its links are relative: a proxy may serve the service below a path.
    private static func wrongLink(_ path: String) -> Response {
        let root = "./" + String(repeating: "../", count: max(0, path.utf8.count { $0 == UInt8(ascii: "/") } - 1))
        let page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Wrong link – Lookalike</title>
            <link rel="stylesheet" href="\(root)page.css">
            </head>
            <body>
            <header><img src="\(root)icon.svg" alt="" width="32" height="32"> <strong>Lookalike</strong></header>
            <main>
            <section class="wrong">
            <h1>There is nothing at this address</h1>
            <p>The link is wrong, or what it led to is somewhere else now.</p>
            <p><a href="\(root)">Search the catalog</a></p>
            </section>
            </main>
            </body>
            </html>

            """
        return Response(
            status: .notFound, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }
}
#endif
