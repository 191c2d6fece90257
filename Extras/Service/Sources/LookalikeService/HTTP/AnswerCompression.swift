#if Service
import CZlib
import HTTPTypes
import Hummingbird
import NIOCore

/// Compresses answers of text for clients that read gzip (RFC 1952).
struct AnswerCompression: RouterMiddleware {
    /// Fewer bytes fit into a packet as they are.
    private static let fewestBytes = 1024
    private static let types: Set = [
        "application/json", "application/problem+json", "application/x-ndjson", "image/svg+xml", "text/css",
        "text/html", "text/javascript", "text/plain",
    ]

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        let body = response.body
        guard Self.isText(response), body.contentLength ?? .max >= Self.fewestBytes else { return response }
        // A cache must not give one client what another reads (RFC 9110, section 12.5.5). Others keep nothing.
        if response.headers[.cacheControl] != "no-store" {
            response.headers.append(HTTPField(name: .vary, value: "Accept-Encoding"))
        }
        guard Self.isAccepted(by: request), request.method != .head else { return response }
        response.headers[.contentEncoding] = "gzip"
        let isStream = body.contentLength == nil
        response.body = ResponseBody { writer in
            try await body.write(CompressedBody(writer: writer, isStream: isStream))
        }
        return response
    }

    private static func isText(_ response: Response) -> Bool {
        let type = response.headers[.contentType]?.prefix { $0 != ";" }
        return type.map { types.contains($0.lowercased()) } ?? false
    }

    /// Whether a client reads gzip (RFC 9110, section 12.5.3).
    private static func isAccepted(by request: Request) -> Bool {
        var weights: [String: Double] = [:]
        for item in request.headers[values: .acceptEncoding].flatMap({ $0.split(separator: ",") }) {
            let parts = item.split(separator: ";").map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            guard let name = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            weights[name] = weight ?? 1
        }
        return (weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0) > 0
    }
}

/// Writes what is written to it, compressed.
private struct CompressedBody: ResponseBodyWriter {
    private var writer: any ResponseBodyWriter
    private let stream = GzipStream()
    /// Whether each part has to arrive before the next one is written, as the results of a batch.
    private let isStream: Bool

    init(writer: any ResponseBodyWriter, isStream: Bool) {
        self.writer = writer
        self.isStream = isStream
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        let part = stream.compress(buffer, flush: isStream ? Z_SYNC_FLUSH : Z_NO_FLUSH)
        if part.readableBytes > 0 { try await writer.write(part) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await writer.write(stream.compress(ByteBuffer(), flush: Z_FINISH))
        try await writer.finish(trailingHeaders)
    }
}

/// A stream of compressed bytes. It is used by one task at a time.
private final class GzipStream {
    private var stream = z_stream()

    init() {
        // 16 more than the window's bits: with the head and the checksum of gzip.
        let status = deflateInit2_(
            &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        precondition(status == Z_OK, "zlib has no memory, or another version")
    }

    deinit { deflateEnd(&stream) }

    /// The compressed bytes that are ready after some more plain ones.
    func compress(_ plain: ByteBuffer, flush: CInt) -> ByteBuffer {
        var compressed = ByteBuffer()
        plain.withUnsafeReadableBytes { bytes in
            stream.next_in = UnsafeMutablePointer(
                mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.avail_in = CUnsignedInt(bytes.count)
            repeat {
                compressed.writeWithUnsafeMutableBytes(minimumWritableBytes: 16 << 10) { room in
                    stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    stream.avail_out = CUnsignedInt(room.count)
                    deflate(&stream, flush)
                    return room.count - Int(stream.avail_out)
                }
            } while stream.avail_out == 0
            stream.next_in = nil
        }
        return compressed
    }
}
#endif
