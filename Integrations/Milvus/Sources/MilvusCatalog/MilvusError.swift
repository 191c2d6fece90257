public import Lookalike

/// Why a catalog in Milvus cannot be read or written.
public struct MilvusError: DescribedError, Equatable {
    /// What is wrong with the server or the collection.
    public enum Reason: Equatable, Sendable {
        /// The address is not of the form `milvus://host:port/collection`.
        case invalidAddress
        /// There is no connection to the server, or it ended before the answer; the transport's message.
        case unreachable(String)
        /// The server did not answer in time.
        case deadlineExceeded(seconds: Double)
        /// The server has answered with an error.
        case refused(code: Int, String)
        /// The server has no such collection.
        case missing
        /// The collection is not of this package, or of another version of it.
        case otherSchema
        /// A push of the collection was not finished.
        case incomplete
        /// Prints or local features of the collection were made with other models than those of the catalog.
        case otherModels(collection: RemoteModels, catalog: RemoteModels)
        /// A row cannot be read.
        case damaged(key: Int64, String)
        /// A part of a condition that Milvus cannot evaluate as a catalog does.
        case unsupportedCondition(String)
        /// More results than Milvus ranks.
        case tooManyResults(Int)
        /// The answer is not of the expected form.
        case unexpectedAnswer(String)
    }

    /// The address of the collection.
    public var subject: String
    /// What is wrong.
    public var reason: Reason

    /// An error about a collection.
    public init(subject: String, reason: Reason) { (self.subject, self.reason) = (subject, reason) }

    public var description: String { "\(subject): \(words)" }

    private var words: String {
        switch reason {
        case .invalidAddress:
            "is no address of a collection, such as milvus://localhost:19530/albums; "
                + "a collection’s name has letters, digits and underscores"
        case .unreachable(let words): "the server cannot be reached: \(words)"
        case .deadlineExceeded(let seconds): "the server did not answer within \(seconds) s"
        case .refused(let code, let words): "the server answered: \(words) (code \(code))"
        case .missing: "there is no such collection; “lookalike-milvus push” makes it"
        case .otherSchema: "the collection is not of this program, or of another version of it; push to another name"
        case .incomplete: "a push to this collection was not finished; push again, it goes on where it ended"
        case .otherModels(let collection, let catalog):
            "its entries were made with other models (\(Self.words(collection))) than the catalog "
                + "(\(Self.words(catalog))); push to another name"
        case .damaged(let key, let words): "row \(key): \(words)"
        case .unsupportedCondition(let words): "Milvus cannot filter by this: \(words)"
        case .tooManyResults(let count): "Milvus ranks \(count) images at most; narrow the search with a condition"
        case .unexpectedAnswer(let words): "the server’s answer is not understood: \(words)"
        }
    }

    private static func words(_ models: RemoteModels) -> String {
        "\(models.prints), local features \(models.localFeatures.map { String($0.prefix(12)) } ?? "none")"
    }
}

/// Where a collection is: `milvus://host:port/collection`, or `milvus+tls://…` for an encrypted connection. The port is
/// 19530 without another one.
public struct MilvusAddress: Sendable, Hashable, CustomStringConvertible {
    /// The server's name or IP address.
    public var host: String
    /// The server's port.
    public var port: Int
    /// The name of the collection.
    public var collection: String
    /// Whether the connection is encrypted.
    public var usesTLS: Bool

    /// Reads an address.
    ///
    /// - Throws: ``MilvusError`` with the reason `invalidAddress`.
    public init(_ text: String) throws(MilvusError) {
        let pattern = /milvus(\+tls)?:\/\/(\[[0-9A-Fa-f:.]+\]|[^\/:@\[\]\s?#]+)(?::([0-9]{1,5}))?\/([A-Za-z0-9_]+)\/?/
        guard let parts = text.wholeMatch(of: pattern)?.output,
            let port = Int(parts.3 ?? "19530"), (1...65_535).contains(port),
            !(parts.4.first?.isNumber ?? true), parts.4.count <= 200
        else { throw MilvusError(subject: text, reason: .invalidAddress) }
        host = parts.2.trimming { "[]".contains($0) }
        self.port = port
        collection = String(parts.4)
        usesTLS = parts.1 != nil
    }

    public var description: String {
        "milvus\(usesTLS ? "+tls" : "")://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(collection)"
    }
}

extension MilvusError: RemoteCatalogError {
    public var failure: RemoteFailure {
        switch reason {
        case .unreachable, .deadlineExceeded: .unavailable
        case .refused where isOfRateLimit || isOfUnloadedCollection: .unavailable
        case .unsupportedCondition, .tooManyResults: .search(words)
        default: .other
        }
    }
}

extension Substring {
    fileprivate func trimming(_ isTrimmed: (Character) -> Bool) -> String {
        String(drop(while: isTrimmed).reversed().drop(while: isTrimmed).reversed())
    }
}
