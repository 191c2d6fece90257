#if Service
import Foundation
import HTTPTypes
import Hummingbird

/// An error as a client gets it: problem details of RFC 9457, with a code.
///
/// A problem has no path of the server and no stack.
struct Problem: Error, Sendable {
    /// What is wrong, for programs. Codes are stable.
    enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid-request"
        case invalidJSON = "invalid-json"
        case invalidForm = "invalid-form"
        case unauthorized
        case forbidden
        case unknownPath = "unknown-path"
        case unknownCatalog = "unknown-catalog"
        case unknownEntity = "unknown-entity"
        case unknownImage = "unknown-image"
        case unknownTask = "unknown-task"
        case noThumbnail = "no-thumbnail"
        case methodNotAllowed = "method-not-allowed"
        case catalogExists = "catalog-exists"
        case catalogBusy = "catalog-busy"
        case remoteCatalog = "remote-catalog"
        case lastImage = "last-image"
        case preconditionFailed = "precondition-failed"
        case queryExpired = "query-expired"
        case undoExpired = "undo-expired"
        case slowBody = "slow-body"
        case bodyTooLarge = "body-too-large"
        case imageTooLarge = "image-too-large"
        case unsupportedMediaType = "unsupported-media-type"
        case unsupportedImage = "unsupported-image"
        case unusableImage = "unusable-image"
        case decodeTime = "decode-time"
        case otherModel = "other-model"
        case unknownAttribute = "unknown-attribute"
        case unknownType = "unknown-type"
        case incomparableAttribute = "incomparable-attribute"
        case damagedSnapshot = "damaged-snapshot"
        case overloaded
        case rateLimited = "rate-limited"
        case timeLimit = "time-limit"
        case storage
        case diskFull = "disk-full"
        case readOnly = "read-only"
        case unavailable
        case cancelled
        case inner = "internal-error"
    }

    let code: Code
    /// What is wrong with this request, for people.
    let detail: String
    var headers: HTTPFields = [:]

    /// The limit on a detail, which may quote a large request.
    private static let mostBytes = 2_000

    init(_ code: Code, _ detail: String, headers: HTTPFields = [:]) {
        self.code = code
        self.detail =
            detail.utf8.count <= Self.mostBytes
            // Decoding replaces a character that is cut in two.
            ? detail : String(decoding: detail.utf8.prefix(Self.mostBytes), as: UTF8.self) + "…"
        self.headers = headers
    }

    var status: HTTPResponse.Status { code.status }

    /// The members of problem details (RFC 9457, section 3.1), and the code.
    struct Body: Codable, Sendable {
        let type: String
        let title: String
        let status: Int
        let detail: String
        let code: String
    }

    /// The response to a request; the body is JSON.
    func response() -> Response {
        Response(status: status, headers: responseHeaders, body: ResponseBody(json: body))
    }

    /// The header fields of the response.
    var responseHeaders: HTTPFields {
        var headers = headers
        headers[.contentType] = "application/problem+json"
        // A 404 or a 410 may be kept otherwise (RFC 9110, section 15.1), and what is missing now may be there soon.
        headers[.cacheControl] = "no-store"
        if status == .serviceUnavailable, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        return headers
    }

    /// The problem as a value of a larger answer, such as a line of a batch.
    var body: Body {
        Body(
            type: "urn:lookalike:problem:\(code.rawValue)", title: code.title, status: status.code, detail: detail,
            code: code.rawValue)
    }
}

extension Problem.Code {
    var status: HTTPResponse.Status {
        switch self {
        case .invalidRequest, .invalidJSON, .invalidForm: .badRequest
        case .unauthorized: .unauthorized
        case .forbidden, .readOnly: .forbidden
        case .unknownPath, .unknownCatalog, .unknownEntity, .unknownImage, .unknownTask, .noThumbnail:
            .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .slowBody: .requestTimeout
        case .catalogExists, .catalogBusy, .remoteCatalog, .lastImage: .conflict
        case .queryExpired, .undoExpired: .gone
        case .preconditionFailed: .preconditionFailed
        case .bodyTooLarge, .imageTooLarge: .contentTooLarge
        case .unsupportedMediaType, .unsupportedImage: .unsupportedMediaType
        case .unusableImage, .decodeTime, .otherModel, .unknownAttribute, .unknownType, .incomparableAttribute,
            .damagedSnapshot:
            .unprocessableContent
        case .overloaded, .timeLimit, .unavailable: .serviceUnavailable
        case .rateLimited: .tooManyRequests
        case .storage, .diskFull: .init(code: 507, reasonPhrase: "Insufficient Storage")
        // The client is gone: the status is for the log and the metrics.
        case .cancelled: .init(code: 499, reasonPhrase: "Client Closed Request")
        case .inner: .internalServerError
        }
    }

    /// The title is the same for every request with this code.
    var title: String {
        switch self {
        case .invalidRequest: "The request is invalid"
        case .invalidJSON: "The body is not the JSON that is expected"
        case .invalidForm: "The form is damaged"
        case .unauthorized: "An API key is needed"
        case .forbidden: "The request is not allowed"
        case .unknownPath: "There is nothing at this path"
        case .unknownCatalog: "There is no such catalog"
        case .unknownEntity: "There is no such entity"
        case .unknownImage: "The entity has no such image"
        case .unknownTask: "There is no such task"
        case .noThumbnail: "The entity has no thumbnail"
        case .methodNotAllowed: "The method is not allowed here"
        case .catalogExists: "The catalog exists already"
        case .catalogBusy: "Something else is writing to the catalog"
        case .remoteCatalog: "A database elsewhere keeps the catalog"
        case .lastImage: "The entity has no other image"
        case .queryExpired: "The query is no longer kept"
        case .undoExpired: "What was replaced is no longer kept"
        case .preconditionFailed: "The catalog is not what the request expects"
        case .slowBody: "The body comes too slowly"
        case .bodyTooLarge: "The body is too large"
        case .imageTooLarge: "The image is too large"
        case .unsupportedMediaType: "The media type is not supported"
        case .unsupportedImage: "The image format is not supported"
        case .unusableImage: "The image cannot be used"
        case .decodeTime: "The image takes too long to decode"
        case .otherModel: "The print was made with another model"
        case .unknownAttribute: "No entity has this attribute"
        case .unknownType: "No entity has this type"
        case .incomparableAttribute: "The attribute is a text in all entities"
        case .damagedSnapshot: "The snapshot is damaged"
        case .diskFull: "The disk is full"
        case .readOnly: "The catalogs cannot be changed"
        case .overloaded: "The service has too much to do"
        case .rateLimited: "The client sends too many requests"
        case .timeLimit: "The request takes too long"
        case .storage: "The catalog cannot be read or written"
        case .unavailable: "The database of the catalog does not answer"
        case .cancelled: "The client closed the connection"
        case .inner: "The service failed"
        }
    }
}
#endif
