import AppIntents

/// An album of the catalog.
public struct AlbumEntity: AppEntity {
    public let id: String
    @Property public var name: String
    @Property public var artistName: String
    public let coverArtData: Data

    public init(id: String, name: String, artistName: String, coverArtData: Data) {
        self.id = id
        self.coverArtData = coverArtData
        self.name = name
        self.artistName = artistName
    }

    public static var typeDisplayRepresentation: TypeDisplayRepresentation { "Album" }

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: "\(name)", subtitle: "\(artistName)", image: .init(data: coverArtData))
    }

    public static let defaultQuery = AlbumEntityQuery()
}

public struct AlbumEntityQuery: EntityQuery {
    @Dependency var catalog: AlbumCatalog

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [AlbumEntity] {
        await catalog.albums(for: identifiers)
    }
}

/// A concert of an artist.
public struct ConcertEntity: AppEntity {
    public let id: String
    @Property public var artistName: String
    @Property public var venue: String

    public init(id: String, artistName: String, venue: String) {
        self.id = id
        self.artistName = artistName
        self.venue = venue
    }

    public static var typeDisplayRepresentation: TypeDisplayRepresentation { "Concert" }

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: "\(artistName)", subtitle: "\(venue)", image: .init(systemName: "music.mic"))
    }

    public static let defaultQuery = ConcertEntityQuery()
}

public struct ConcertEntityQuery: EntityQuery {
    @Dependency var concertFinder: ConcertFinder

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [ConcertEntity] {
        concertFinder.concerts.filter { identifiers.contains($0.id) }
    }
}
