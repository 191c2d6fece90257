import AppIntents
import VisualIntelligence

/// A result of a visual search: albums come first, then concerts.
@UnionValue
public enum VisualSearchResult {
    case album(AlbumEntity)
    case concert(ConcertEntity)
}

/// The albums whose covers a picture shows, and concerts by their artists.
public struct SearchHandler: IntentValueQuery {
    @Dependency var catalog: AlbumCatalog
    @Dependency var concertFinder: ConcertFinder

    public init() {}

    public func values(for input: SemanticContentDescriptor) async throws -> [VisualSearchResult] {
        guard let pixelBuffer = input.pixelBuffer else { return [] }
        let albums = try await catalog.search(matching: pixelBuffer)
        let concerts = await concertFinder.findNearby(byArtists: albums.map { $0.artistName })
        return albums.map { VisualSearchResult.album($0) } + concerts.map { VisualSearchResult.concert($0) }
    }
}

public struct OpenAlbumIntent: OpenIntent {
    public static let title: LocalizedStringResource = "Open Album"

    @Parameter(title: "Album") public var target: AlbumEntity

    @Dependency var appState: AppState

    public init() {}

    public func perform() async throws -> some IntentResult {
        await appState.openAlbum(id: target.id)
        return .result()
    }
}

public struct OpenConcertIntent: OpenIntent {
    public static let title: LocalizedStringResource = "Open Concert"

    @Parameter(title: "Concert") public var target: ConcertEntity

    @Dependency var appState: AppState

    public init() {}

    public func perform() async throws -> some IntentResult {
        await appState.openConcert(id: target.id)
        return .result()
    }
}

@AppIntent(schema: .visualIntelligence.semanticContentSearch)
public struct MusicSearchIntent: AppIntent {
    public static let title: LocalizedStringResource = "Search in the App"
    public static let openAppWhenRun: Bool = true

    public var semanticContent: SemanticContentDescriptor

    @Dependency var catalog: AlbumCatalog
    @Dependency var concertFinder: ConcertFinder
    @Dependency var appState: AppState

    public init() {}

    public func perform() async throws -> some IntentResult {
        guard let pixelBuffer = semanticContent.pixelBuffer else { return .result() }
        let albums = try await catalog.search(matching: pixelBuffer, limit: 50)
        let concerts = await concertFinder.findNearby(byArtists: albums.map { $0.artistName })
        await appState.openSearch(albums: albums, concerts: concerts)
        return .result()
    }
}
