#if Service
import Digests
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension ResponseBody {
    /// A value as JSON.
    init(json value: some Encodable) {
        self.init(byteBuffer: ByteBuffer(json: value))
    }
}

extension ByteBuffer {
    /// A value as JSON, with its keys in order.
    init(json value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A damaged catalog may have such numbers, and JSON has none.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do {
            self.init(bytes: try encoder.encode(value))
        } catch {
            preconditionFailure("answers have numbers and text: \(error)")
        }
    }
}

extension Response {
    /// A JSON answer.
    init(_ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) {
        var headers = headers
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        self.init(status: status, headers: headers, body: ResponseBody(json: value))
    }
}

/// A body with its entity tag (RFC 9110, section 8.8.3), so that clients fetch it again only if it has changed.
struct TaggedBody: Sendable {
    let data: Data
    let tag: String

    init(_ data: Data) {
        self.data = data
        let digest = SHA256.hash(data).prefix(12).map { String($0, radix: 36) }.joined(separator: "-")
        tag = "\"\(digest)\""
    }

    func isKnown(to request: Request) -> Bool { Self.isKnown(tag, to: request) }

    /// Whether a client names a tag, alone or among others, or any. A proxy that compresses answers makes tags weak
    /// (RFC 9110, section 13.1.2).
    static func isKnown(_ tag: String, to request: Request) -> Bool {
        let tags = (request.headers[.ifNoneMatch] ?? "").split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        // Splitting at commas is safe: a digest has none.
        return tags.contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
    }
}

extension Response {
    /// The body, or 304 Not Modified for a client that has it.
    init(_ body: TaggedBody, type: String, cacheControl: String, for request: Request) {
        var headers: HTTPFields = [.eTag: body.tag, .cacheControl: cacheControl]
        if body.isKnown(to: request) {
            self.init(status: .notModified, headers: headers)
        } else {
            headers[.contentType] = type
            self.init(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body.data)))
        }
    }
}
#endif
