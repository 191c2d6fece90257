#if Service
import Digests
import Foundation
import Hummingbird
import Lookalike
import NIOCore

/// What is known of a request besides its head and body.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The client's connection; nil for a request without one, as in a test of the router.
    let connection: Connection?
    /// The scope of the request's key; nil for a request without one.
    var scope: APIKeyScope?
    /// Whether the request could change something if the service did not refuse all changes.
    var isReadOnly = false
    /// The catalogs that the request's key is for; nil for all.
    var catalogs: Set<String>?
    /// Who sent the request, for logs.
    let identity: RequestIdentity
    /// Whose work the request is.
    var client: WorkClient

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        connection = ConnectionMonitor.connection(of: source.channel)
        identity = RequestIdentity(address: source.channel.remoteAddress?.ipAddress ?? "")
        client = WorkClient(key: nil, address: Self.network(of: source.channel.remoteAddress?.ipAddress ?? ""))
    }

    /// The part of an address that one client has: all of an IPv4 address, and the first half of an IPv6 address, of
    /// which a client has the rest to itself (RFC 7421).
    static func network(of address: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
        // An IPv4 address in the form of IPv6 (RFC 4291, section 2.5.5.2).
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11].allSatisfy { $0 == 0xFF }
        return Data(isMapped ? bytes[12...] : bytes[..<8]).hexadecimal
    }

    /// A component of the path, percent-decoded.
    ///
    /// - Throws: ``Problem`` if it is not UTF-8, or has a NUL character.
    func pathComponent(_ name: String) throws(Problem) -> String {
        guard let encoded = parameters.get(name), let text = encoded.removingPercentEncoding,
            !text.isEmpty, !text.utf8.contains(0)
        else { throw Problem(.invalidRequest, "The \(name) in the path is not percent-encoded UTF-8.") }
        return text
    }

    /// The catalog in the path.
    ///
    /// - Throws: ``Problem`` for a name that no catalog has, and for one that the request's key is not for.
    func catalogName() throws(Problem) -> CatalogName {
        let text = try pathComponent("catalog")
        guard let name = CatalogName(text) else { throw Problem(.invalidRequest, CatalogName.rule) }
        try require(name)
        return name
    }
}
#endif
