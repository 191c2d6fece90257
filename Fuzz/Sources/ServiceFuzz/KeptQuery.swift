import Foundation

/// A query that the service keeps.
enum KeptQuery {
    /// The id of a new one.
    static func make() -> Data {
        let answer = send("POST /v1/catalogs/\(ServedCatalogs.name)/search", "image/png", FuzzedImage.png)
        guard case .status(200, let bytes) = answer,
            let text = String(bytes: bytes, encoding: .utf8),
            let id = text.firstMatch(of: /"query":"([0-9a-f-]+)"/)?.output.1
        else { fatalError("a search has no query: \(answer)") }
        return Data(id.utf8)
    }
}
