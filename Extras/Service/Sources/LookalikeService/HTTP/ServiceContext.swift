#if Service
import Foundation
import Hummingbird

/// What is known of a request besides its head and body.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The client's connection; nil for a request without one, as in a test of the router.
    let connection: Connection?
    /// The scope of the request's key; nil for a request without one.
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
}
#endif
