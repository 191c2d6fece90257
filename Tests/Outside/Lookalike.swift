import Foundation
import Lookalike
import VisualSearch

/// The core, without a trait beside the default ones.
struct Covers {
    let catalog: Catalog

    func search(_ photo: PixelBuffer) async throws -> [CatalogMatch] { try await catalog.search(matching: photo) }
}

struct Cover: AppEntity, CatalogRepresentable {
    let id: String
    var displayRepresentation: DisplayRepresentation { "\(id)" }
    static let defaultQuery = CoverQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Cover" }

    init(_ row: CatalogRow) { id = row.id }
}

struct CoverQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [Cover] { [] }
}
