import AppIntents
import Observation
import Pictures
import VisualIntelligence

/// The albums with the prints of their covers, which are made when the catalog is.
@MainActor @Observable
public final class AlbumCatalog {
    public private(set) var albums: [AlbumEntity] = []
    private var prints = PrintIndex()

    public init() {}

    public func add(_ album: AlbumEntity, cover: Picture) async throws {
        var prints = prints
        try await prints.add(cover, id: album.id)
        self.prints = prints
        albums.append(album)
    }

    public var artists: [String] { Set(albums.map(\.artistName)).sorted() }

    func albums(for identifiers: [String]) -> [AlbumEntity] {
        identifiers.compactMap { id in albums.first { $0.id == id } }
    }

    func search(matching pixelBuffer: CVReadOnlyPixelBuffer, limit: Int = 10) async throws -> [AlbumEntity] {
        guard let picture = pixelBuffer.picture else { return [] }
        return albums(for: try await prints.nearest(to: picture, limit: limit, within: 1))
    }
}

/// The concerts that the app knows of.
public final class ConcertFinder: Sendable {
    let concerts: [ConcertEntity]

    public init(_ concerts: [ConcertEntity]) { self.concerts = concerts }

    /// The artists' concerts, those of the first artist first.
    func findNearby(byArtists artists: [String]) async -> [ConcertEntity] {
        var seen: Set<String> = []
        return artists.filter { seen.insert($0).inserted }.flatMap { artist in
            concerts.filter { $0.artistName == artist }
        }
    }
}

/// The screens of the app.
@MainActor @Observable
public final class AppState {
    public private(set) var visited: [String] = []

    public init() {}

    func openAlbum(id: String) { visited.append("album \(id)") }
    func openConcert(id: String) { visited.append("concert \(id)") }
    func openSearch(albums: [AlbumEntity], concerts: [ConcertEntity]) {
        visited.append("search with \(albums.count) albums and \(concerts.count) concerts")
    }
}
