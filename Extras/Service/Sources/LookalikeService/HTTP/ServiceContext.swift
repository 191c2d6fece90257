import Foundation
import Hummingbird

/// What is known of a request besides its head and body.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Nil for a request without a connection of its own, as in a test of the router.
    let connection: Connection?
    /// What the request's key allows.
    var scope: APIKeyScope?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        connection = ConnectionMonitor.connection(of: source.channel)
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
    func catalogName() throws(Problem) -> CatalogName {
        let text = try pathComponent("catalog")
        guard let name = CatalogName(text) else { throw Problem(.invalidRequest, CatalogName.rule) }
        return name
    }

    /// The entity in the path.
    func entityID() throws(Problem) -> String { try EntityID.checked(try pathComponent("id")) }
}

/// The ids that the service stores.
enum EntityID {
    private static let maximumByteCount = 512

    static func checked(_ id: String) throws(Problem) -> String {
        // Clients resolve them as path segments, even percent-encoded (WHATWG's URL standard): deleting such an entity
        // would delete the catalog.
        guard id != ".", id != ".." else { throw Problem(.invalidRequest, "An entity's id is not “.” or “..”.") }
        guard !id.isEmpty, id.utf8.count <= maximumByteCount,
            !id.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw Problem(
                .invalidRequest, "An entity's id has 1 to \(maximumByteCount) bytes and no control characters.")
        }
        return id
    }
}
