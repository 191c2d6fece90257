import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Lookalike
import SwiftProtobuf

/// A connection to a Milvus server, for one collection.
///
/// Reads are tried again while the server cannot be reached, until their deadline: after a restart the connection is
/// made anew, and a collection that is not in memory any more is loaded. Writes are sent once, with two exceptions:
/// those that the server has refused for its rate limit, before it did anything, and those that may be done twice, if
/// the connection ends before the answer.
///
/// Connections do end under load: a server in Go sends a PING for many of the messages that it gets, to estimate the
/// bandwidth, and swift-nio-http2 closes a connection with more than 200 of them in 30 seconds. gRPC cannot set that.
final class MilvusClient: Sendable {
    let address: MilvusAddress
    private let client: GRPCClient<HTTP2ClientTransport.Posix>
    private let connections: Task<Void, any Error>
    private let metadata: Metadata
    let options: MilvusOptions

    /// An answer has features of some hundred images; Milvus's own limit.
    private static let mostBytes = 256 << 20
    /// Connections in a row that a write may lose.
    private static let mostLostConnections = 3
    /// What gRPC says before the reason.
    private static let transientFailure =
        "Channel is in a transient failure state and 'wait for ready' isn't enabled. "

    init(_ address: MilvusAddress, options: MilvusOptions) throws(MilvusError) {
        (self.address, self.options) = (address, options)
        do {
            let isNumber = address.host.allSatisfy { $0.isHexDigit || ".:".contains($0) }
            let target: any ResolvableTarget =
                !isNumber
                ? .dns(host: address.host, port: address.port)
                : address.host.contains(":")
                    ? .ipv6(address: address.host, port: address.port)
                    : .ipv4(address: address.host, port: address.port)
            client = GRPCClient(
                transport: try .http2NIOPosix(
                    target: target, transportSecurity: address.usesTLS ? .tls : .plaintext,
                    config: .defaults {
                        // A search waits for a server that restarts: look for it more often than once a second.
                        $0.backoff.initial = .milliseconds(100)
                        $0.backoff.max = .seconds(2)
                    }))
        } catch {
            throw MilvusError(subject: "\(address)", reason: .unreachable("\(error)"))
        }
        metadata = options.token.map { ["authorization": "\(Data($0.utf8).base64EncodedString())"] } ?? [:]
        connections = Task { [client] in try await client.runConnections() }
    }

    deinit { connections.cancel() }

    func error(_ reason: MilvusError.Reason) -> MilvusError { MilvusError(subject: "\(address)", reason: reason) }

    /// Asks for something. The collection is loaded if the server says that it is not.
    func read<Request: Message & Answered>(_ method: Method, _ request: Request) async throws -> Request.Answer {
        let end = ContinuousClock.now + options.readDeadline
        var pause = Duration.milliseconds(50)
        while true {
            do {
                return try await call(method, request, until: end, deadline: options.readDeadline)
            } catch let failure as MilvusError where failure.isPassing && ContinuousClock.now + pause < end {
                if failure.isOfUnloadedCollection {
                    _ = try? await call(.loadCollection, loadRequest, until: end, deadline: options.readDeadline)
                }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(1))
            }
        }
    }

    /// Changes something, once, or again after a lost connection if that is the same.
    @discardableResult
    func write<Request: Message & Answered>(_ method: Method, _ request: Request) async throws -> Request.Answer {
        let end = ContinuousClock.now + options.writeDeadline
        var (pause, lostConnections) = (Duration.milliseconds(100), 0)
        while true {
            do {
                return try await call(method, request, until: end, deadline: options.writeDeadline)
            } catch let failure as MilvusError where ContinuousClock.now + pause < end {
                if failure.isOfLostConnection, method.canBeRepeated, lostConnections < Self.mostLostConnections {
                    lostConnections += 1
                } else if !failure.isOfRateLimit {
                    throw failure
                }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(5))
            }
        }
    }

    private var loadRequest: MilvusLoadCollectionRequest {
        .with { ($0.collectionName, $0.replicaNumber) = (address.collection, 1) }
    }

    /// Loads the collection into the server's memory, and waits until it is.
    func load() async throws {
        try await write(.loadCollection, loadRequest)
        let end = ContinuousClock.now + options.loadDeadline
        while true {
            let answer = try await read(
                .getLoadState, MilvusLoadStateRequest.with { $0.collectionName = address.collection })
            if answer.state == .loaded { return }
            guard ContinuousClock.now < end else {
                throw error(.deadlineExceeded(seconds: options.loadDeadline / .seconds(1)))
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func call<Request: Message & Answered>(
        _ method: Method, _ request: Request, until end: ContinuousClock.Instant, deadline: Duration
    ) async throws -> Request.Answer {
        var call = CallOptions.defaults
        call.timeout = max(end - .now, .milliseconds(1))
        call.waitForReady = false
        call.maxRequestMessageBytes = Self.mostBytes
        call.maxResponseMessageBytes = Self.mostBytes
        let answer: Request.Answer
        do {
            answer = try await client.unary(
                request: ClientRequest(message: request, metadata: metadata),
                descriptor: MethodDescriptor(
                    fullyQualifiedService: "milvus.proto.milvus.MilvusService", method: method.name),
                serializer: ProtobufCoder<Request>(), deserializer: ProtobufCoder<Request.Answer>(), options: call
            ) { try $0.message }
        } catch let failure as RPCError {
            try Task.checkCancellation()
            throw switch failure.code {
            case .deadlineExceeded: error(.deadlineExceeded(seconds: deadline / .seconds(1)))
            case .unavailable: error(.unreachable(failure.message.replacing(Self.transientFailure, with: "")))
            default: error(.refused(code: failure.code.rawValue, "\(failure.code), \(failure.message)"))
            }
        }
        let status = answer.serverStatus
        guard status.errorCode == 0, status.code == 0 else {
            throw error(.refused(code: Int(status.code == 0 ? status.errorCode : status.code), status.reason))
        }
        return answer
    }
}

/// How long a server may take, and what each request carries.
public struct MilvusOptions: Sendable {
    /// For an answer to a read, with all attempts.
    public var readDeadline: Duration
    /// For a write.
    public var writeDeadline: Duration
    /// For loading a collection into the server's memory.
    public var loadDeadline: Duration
    /// `user:password` or an API key; nil for a server without authorization.
    public var token: String?
    /// How much of an index that is not flat a search looks at: lists of an inverted file, and neighbors of a graph.
    /// More find more, and take longer. Nil for what the collection says.
    public var breadth: Int?

    /// Options; each has a default.
    public init(
        readDeadline: Duration = .seconds(10), writeDeadline: Duration = .seconds(60),
        loadDeadline: Duration = .seconds(600), token: String? = nil, breadth: Int? = nil
    ) {
        (self.readDeadline, self.writeDeadline) = (readDeadline, writeDeadline)
        (self.loadDeadline, self.token, self.breadth) = (loadDeadline, token, breadth)
    }
}

extension MilvusError {
    /// Milvus's codes: of 2.3 and later, and of the versions before.
    private enum Code {
        static let (rateLimited, formerlyRateLimited, notLoaded) = (8, 49, 101)
    }

    /// Whether a read may succeed a moment later.
    fileprivate var isPassing: Bool {
        isOfLostConnection || isOfRateLimit || isOfUnloadedCollection
    }

    fileprivate var isOfLostConnection: Bool { if case .unreachable = reason { true } else { false } }

    var isOfUnloadedCollection: Bool {
        if case .refused(let code, let words) = reason {
            code == Code.notLoaded || words.contains("not loaded") || words.contains("'released'")
        } else {
            false
        }
    }

    var isOfRateLimit: Bool {
        if case .refused(Code.rateLimited, _) = reason { return true }
        if case .refused(Code.formerlyRateLimited, _) = reason { return true }
        return false
    }
}

/// The methods of Milvus's service that are used.
enum Method: String {
    case getVersion, hasCollection, describeCollection, createCollection, dropCollection, alterCollection
    case createIndex, loadCollection, getLoadState, flush, insert, upsert, delete, query, search

    var name: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    /// Whether a change that is made twice is the same as once: rows are replaced and deleted by their keys.
    var canBeRepeated: Bool {
        switch self {
        case .upsert, .delete, .flush, .loadCollection, .alterCollection: true
        default: false
        }
    }
}

/// A request, with the type of its answer.
protocol Answered: Message {
    associatedtype Answer: StatusHolder
}

/// An answer with the server's status.
protocol StatusHolder: Message {
    var serverStatus: MilvusStatus { get }
}

extension MilvusStatus: StatusHolder { var serverStatus: MilvusStatus { self } }
extension MilvusVersionResponse: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusBoolResponse: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusDescribeCollectionResponse: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusLoadStateResponse: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusFlushResponse: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusMutationResult: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusQueryResults: StatusHolder { var serverStatus: MilvusStatus { status } }
extension MilvusSearchResults: StatusHolder { var serverStatus: MilvusStatus { status } }

extension MilvusVersionRequest: Answered { typealias Answer = MilvusVersionResponse }
extension MilvusHasCollectionRequest: Answered { typealias Answer = MilvusBoolResponse }
extension MilvusDescribeCollectionRequest: Answered { typealias Answer = MilvusDescribeCollectionResponse }
extension MilvusCreateCollectionRequest: Answered { typealias Answer = MilvusStatus }
extension MilvusDropCollectionRequest: Answered { typealias Answer = MilvusStatus }
extension MilvusAlterCollectionRequest: Answered { typealias Answer = MilvusStatus }
extension MilvusCreateIndexRequest: Answered { typealias Answer = MilvusStatus }
extension MilvusLoadCollectionRequest: Answered { typealias Answer = MilvusStatus }
extension MilvusLoadStateRequest: Answered { typealias Answer = MilvusLoadStateResponse }
extension MilvusFlushRequest: Answered { typealias Answer = MilvusFlushResponse }
extension MilvusInsertRequest: Answered { typealias Answer = MilvusMutationResult }
extension MilvusDeleteRequest: Answered { typealias Answer = MilvusMutationResult }
extension MilvusQueryRequest: Answered { typealias Answer = MilvusQueryResults }
extension MilvusSearchRequest: Answered { typealias Answer = MilvusSearchResults }

/// Codes messages for gRPC.
private struct ProtobufCoder<Content: Message>: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: Content) throws -> Bytes {
        Bytes(try message.serializedBytes() as [UInt8])
    }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Content {
        try bytes.withUnsafeBytes { try Content(serializedBytes: Data($0)) }
    }
}
