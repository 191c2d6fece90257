import Foundation
import HTTPTypes
import Hummingbird

/// A body with its entity tag (RFC 9110, section 8.8.3), so that clients fetch it again only if it has changed.
struct TaggedBody: Sendable {
    let data: Data
    let tag: String

    init(_ data: Data) {
        self.data = data
        let digest = SHA256.hash(data).prefix(12).map { String($0, radix: 36) }.joined(separator: "-")
        tag = "\"\(digest)\""
    }
}

extension Response {
    /// The body, or 304 Not Modified for a client that has it.
    init(_ body: TaggedBody, type: String, cacheControl: String, for request: Request) {
        var headers: HTTPFields = [.eTag: body.tag, .cacheControl: cacheControl]
        if request.headers[.ifNoneMatch] == body.tag {
            self.init(status: .notModified, headers: headers)
        } else {
            headers[.contentType] = type
            self.init(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body.data)))
        }
    }
}
