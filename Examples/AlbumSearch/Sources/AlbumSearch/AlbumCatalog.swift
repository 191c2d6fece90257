import Foundation
import Lookalike
import VisualSearch

/// The app's albums with their precomputed feature prints: the part that knows the engine.
final class AlbumCatalog: Sendable {
    let albums: EntityCatalog<AlbumEntity>
    let artists: [String]

    init(_ catalog: Catalog) async throws {
        albums = EntityCatalog(catalog, type: "album")
        let artists = try await catalog.reduceEntities(into: Set<String>()) { artists, entity in
            if let artist = entity.subtitle { artists.insert(artist) }
        }
        self.artists = artists.sorted()
    }

    func search(matching pixelBuffer: CVReadOnlyPixelBuffer, limit: Int = 10) async throws -> [AlbumEntity] {
        try await albums.search(matching: pixelBuffer, limit: limit)
    }

    func albums(for identifiers: [String]) async throws -> [AlbumEntity] {
        try await albums.entities(for: identifiers)
    }
}

extension AlbumEntity: CatalogRepresentable {
    /// A row of the manifest: the title is the album's, the subtitle the artist's.
    init(_ row: CatalogRow) throws {
        id = row.id
        title = row.title ?? "\(row.id)"
        coverArtData = row.thumbnail ?? Data()
        name = row.entity.title ?? row.id
        artistName = row.entity.subtitle ?? ""
    }
}
