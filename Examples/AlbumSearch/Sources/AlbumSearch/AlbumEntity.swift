import AppIntents
import Foundation

/// An album, as people see it in results.
struct AlbumEntity: AppEntity {
    var id: String
    @Property var name: String
    @Property var artistName: String
    var title: LocalizedStringResource
    var coverArtData: Data

    var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: title, subtitle: "\(artistName)", image: .init(data: coverArtData))
    }

    static let defaultQuery = AlbumEntityQuery()

    static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(name: "Album", numericFormat: "\(placeholder: .int) albums")
    }
}

struct AlbumEntityQuery: EntityQuery {
    @Dependency var catalog: AlbumCatalog

    func entities(for identifiers: [String]) async throws -> [AlbumEntity] {
        try await catalog.albums(for: identifiers)
    }
}
