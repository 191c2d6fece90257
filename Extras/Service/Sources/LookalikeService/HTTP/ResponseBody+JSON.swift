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
        // As a damaged catalog may give; JSON has no such numbers.
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
