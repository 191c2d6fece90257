// What the text of the article assumes.
import Foundation
import VisualSearch

struct AlbumEntity: AppEntity, CatalogRepresentable {
    let id: String
    var displayRepresentation: DisplayRepresentation { "\(id)" }
    static let defaultQuery = AlbumEntityQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Album" }

    init(_ row: CatalogRow) { id = row.id }
}

struct AlbumEntityQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [AlbumEntity] { [] }
}

final class AlbumCatalog: Sendable {
    let albums: EntityCatalog<AlbumEntity> = assumed()
}
