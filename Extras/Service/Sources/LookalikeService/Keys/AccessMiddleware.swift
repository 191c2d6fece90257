#if Service
import Foundation
import HTTPTypes
import Hummingbird

/// Lets a request pass if its key allows it, and without keys if it comes from this machine's own pages and programs.
struct AccessMiddleware: RouterMiddleware {
    let ring: KeyStore
    /// The host names under which the service answers without keys; nil for any. A name of somebody else's that leads
    /// here is refused, such as one that a page rebinds to this machine.
    let hosts: Set<String>?
    /// Other origins whose pages may send requests.
    let origins: Set<String>
    /// The addresses of proxies that say who sent a request.
    let proxies: Set<String>
    let rates: RateLimiter
    /// The requests that a key, or without keys an address, may send a second; nil for any number.
    let rate: Double?
    /// Whether nothing may be changed, whatever a key allows.
    let isReadOnly: Bool

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard request.head.authority != nil else {
            throw Problem(.invalidRequest, "A request has one “Host” field (RFC 9112, section 3.2).")
        }
        try checkOrigin(request)
        var context = context
        let sender = try sender(of: request.head, from: context.identity.address)
        context.identity.address = sender.address
        context.client = sender.client
        if ring.current.isEmpty {
            try checkHost(request)
            context.scope = .write
        } else if let entry = sender.key {
            context.scope = entry.scope
            context.catalogs = entry.catalogs
            context.identity.key = entry.name
        }
        if isReadOnly, context.scope == .write { (context.scope, context.isReadOnly) = (.read, true) }
        // Health, metrics and the page's files are answered at any rate.
        if let rate = sender.key?.rate ?? rate, request.uri.path.hasPrefix("/v1/") {
            try rates.admit(context.client, rate: rate)
        }
        return try await next(request, context)
    }

    /// Who sends a request.
    struct Sender {
        /// The address of the client, which a proxy may say.
        let address: String
        /// Nil for a request without a key, and if none are needed.
        let key: APIKey?
        let client: WorkClient
    }

    /// - Parameter peer: the address at the other end of the connection.
    /// - Throws: ``Problem`` for a key that is not known or has expired.
    func sender(of head: HTTPRequest, from peer: String) throws(Problem) -> Sender {
        let address = forwardedAddress(in: head.headerFields, from: peer) ?? peer
        let keys = ring.current
        var entry: APIKey?
        if !keys.isEmpty, let key = Self.key(in: head.headerFields) {
            entry = keys.entry(for: key)
            guard let entry else {
                throw Problem(.unauthorized, "The API key is not known.", headers: Self.challenge)
            }
            guard entry.expiry.map({ $0.date > .now }) ?? true else {
                throw Problem(.unauthorized, "The API key has expired.", headers: Self.challenge)
            }
        }
        let client = WorkClient(key: entry?.digest, address: ServiceContext.network(of: address))
        return Sender(address: address, key: entry, client: client)
    }

    /// Why a search for an image would be refused now, whatever its body is; nil for one that has to be looked at, as
    /// those of pages of other origins, whose answers have more fields.
    ///
    /// - Parameter peer: the address at the other end of the connection.
    func refusal(of head: HTTPRequest, from peer: String, in pool: WorkPool) -> (sender: Sender, problem: Problem)? {
        guard head.method == .post, head.headerFields[.origin] == nil,
            let path = head.path?.prefix(while: { $0 != "?" }), path.hasPrefix("/v1/catalogs/"),
            path.hasSuffix("/search"),
            !(head.headerFields[.contentType] ?? "").lowercased().hasPrefix("application/json"),
            let sender = try? sender(of: head, from: peer), sender.key != nil || ring.current.isEmpty
        else { return nil }
        do {
            if let rate = sender.key?.rate ?? rate { try rates.check(sender.client, rate: rate) }
            try pool.check(for: sender.client)
            return nil
        } catch {
            return (sender, error)
        }
    }

    static let challenge: HTTPFields = [.wwwAuthenticate: "Bearer realm=\"lookalike\""]

    static let keyField = HTTPField.Name("X-API-Key")

    private static func key(in fields: HTTPFields) -> String? {
        if let field = keyField, let key = fields[field] { return key }
        guard let value = fields[.authorization] else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return parts[1].trimmingCharacters(in: .whitespaces)
    }

    /// The address of a client behind a proxy: the last one, which the proxy wrote. Those before may be invented.
    private func forwardedAddress(in fields: HTTPFields, from peer: String) -> String? {
        guard proxies.contains(peer), let field = Self.forwardedField else { return nil }
        let last = fields[values: field].last?.split(separator: ",").last
        return last.map { $0.trimmingCharacters(in: .whitespaces) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static let forwardedField = HTTPField.Name("X-Forwarded-For")
    private static let siteField = HTTPField.Name("Sec-Fetch-Site")

    /// Refuses pages of other sites: they can make a browser send a request even if they cannot read the answer.
    private func checkOrigin(_ request: Request) throws(Problem) {
        guard let origin = request.headers[.origin], !origins.contains(origin) else { return }
        let host = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        if host == request.head.authority { return }
        // A proxy may not pass the host. Browsers set this field, and no page can (Fetch Metadata, section 2.3).
        if let field = Self.siteField, request.headers[field] == "same-origin" { return }
        // The page's own files are for everybody, and its modules are asked for with an origin.
        if request.method == .get || request.method == .head, !request.uri.path.hasPrefix("/v1/") { return }
        throw Problem(
            .forbidden,
            "Pages of other origins may not send requests. Behind a proxy that does not pass “Host”, start the service "
                + "with --public-url.")
    }

    private func checkHost(_ request: Request) throws(Problem) {
        // Browsers name the host; old programs, such as health checks of HTTP/1.0, need not.
        guard let hosts, let authority = request.head.authority, !authority.isEmpty else { return }
        let host =
            authority.hasPrefix("[")
            ? String(authority.prefix { $0 != "]" }) + "]" : String(authority.prefix { $0 != ":" })
        guard hosts.contains(host.lowercased()) else {
            throw Problem(.forbidden, "Without API keys the service answers under its local names alone.")
        }
    }
}

/// Lets every request read, at a port that operators alone reach.
struct OpenAccess: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.scope = .read
        return try await next(request, context)
    }
}

extension ServiceContext {
    /// Checks that the request's key is for all catalogs.
    ///
    /// - Throws: ``Problem`` otherwise.
    func requireAllCatalogs() throws(Problem) {
        guard catalogs == nil else { throw Problem(.forbidden, "The API key is for some catalogs alone.") }
    }

    /// Whether the request's key is for a catalog.
    func isAllowed(_ name: CatalogName) -> Bool { catalogs?.contains(name.description) ?? true }

    /// Checks that the request's key is for a catalog.
    ///
    /// - Throws: ``Problem`` otherwise.
    func require(_ name: CatalogName) throws(Problem) {
        guard isAllowed(name) else { throw Problem(.forbidden, "The API key is not for the catalog “\(name)”.") }
    }

    /// Checks that the request may do something.
    ///
    /// - Throws: ``Problem`` if the request's key does not allow as much, or the service changes nothing.
    func require(_ needed: APIKeyScope) throws(Problem) {
        guard let scope else {
            throw Problem(.unauthorized, "The request needs an API key.", headers: AccessMiddleware.challenge)
        }
        guard scope >= needed else {
            if isReadOnly {
                throw Problem(
                    .remoteCatalog, "A database elsewhere keeps the catalogs of this service; change them there.")
            }
            throw Problem(.forbidden, "The API key allows reading alone; this needs a key with write scope.")
        }
    }
}
#endif
