import GRPCCore
import GRPCNIOTransportHTTP2Posix
import MilvusCatalog
import Synchronization

/// A server that accepts everything, keeps nothing, and fails on demand, as a real one does not.
final class FakeMilvus: Sendable {
    enum Failure: Sendable {
        /// An answer with an error, as Milvus gives it.
        case refusal(code: UInt8, String)
        /// No answer, until the client goes away.
        case silence
        /// The end of the connection, as the client sees it.
        case loss
    }

    let port: Int
    private let state: Calls
    private let running: Task<Void, any Error>

    private static let methods = [
        "GetVersion", "HasCollection", "DescribeCollection", "CreateCollection", "AlterCollection", "CreateIndex",
        "LoadCollection", "GetLoadState", "Flush", "Upsert", "Delete", "Query", "Search",
    ]

    init() async throws {
        let calls = Calls()
        state = calls
        var router = RPCRouter<HTTP2ServerTransport.Posix>()
        for method in Self.methods {
            router.registerHandler(
                forMethod: MethodDescriptor(
                    fullyQualifiedService: "milvus.proto.milvus.MilvusService", method: method),
                deserializer: Bytes(), serializer: Bytes()
            ) { request, _ in
                for try await _ in request.messages {}
                let answer = try await calls.answer(method)
                return StreamingServerResponse(single: ServerResponse(message: answer))
            }
        }
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
        let server = GRPCServer(transport: transport, router: router)
        running = Task { try await server.serve() }
        port = try await transport.listeningAddress.ipv4?.port ?? 0
    }

    deinit { running.cancel() }

    func address(_ collection: String) throws -> MilvusAddress {
        try MilvusAddress("milvus://127.0.0.1:\(port)/\(collection)")
    }

    /// Lets the next calls of a method fail.
    func fail(_ method: String, times: Int = 1, _ failure: Failure) {
        state.failures.withLock { $0[method, default: []] += Array(repeating: failure, count: times) }
    }

    func callCount(_ method: String) -> Int { state.counts.withLock { $0[method] ?? 0 } }

    private final class Calls: Sendable {
        let failures = Mutex<[String: [Failure]]>([:])
        let counts = Mutex<[String: Int]>([:])

        func answer(_ method: String) async throws -> [UInt8] {
            counts.withLock { $0[method, default: 0] += 1 }
            let failure = failures.withLock { failures -> Failure? in
                guard let first = failures[method]?.first else { return nil }
                failures[method]?.removeFirst()
                return first
            }
            switch failure {
            case .refusal(let code, let reason):
                let status = [0x12, UInt8(reason.utf8.count)] + Array(reason.utf8) + [0x18, code]
                let isAlone = ["CreateCollection", "AlterCollection", "CreateIndex", "LoadCollection"].contains(method)
                return isAlone ? status : [0x0A, UInt8(status.count)] + status
            case .silence:
                try await Task.sleep(for: .seconds(3600))
                return []
            case .loss: throw RPCError(code: .unavailable, message: "Stream unexpectedly closed.")
            // A message without fields is a success, and there is no collection of the name. This one is loaded.
            case nil: return method == "GetLoadState" ? [0x10, 3] : []
            }
        }
    }

    private struct Bytes: MessageSerializer, MessageDeserializer {
        func serialize<Content: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Content { Content(message) }
        func deserialize<Content: GRPCContiguousBytes>(_ bytes: Content) throws -> [UInt8] {
            bytes.withUnsafeBytes { Array($0) }
        }
    }
}
