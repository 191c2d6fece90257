import Synchronization
import Testing
import VisualSearchMacros

private struct Poster: AppEntity {
    var id: Int
    var displayRepresentation: DisplayRepresentation { "Poster \(id)" }
    static let defaultQuery = PosterQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Poster" }
}

private struct PosterQuery: EntityQuery {
    func entities(for identifiers: [Int]) async throws -> [Poster] { identifiers.map { Poster(id: $0) } }
}

private struct Album: AppEntity {
    var id: String
    var displayRepresentation: DisplayRepresentation { "Album \(id)" }
    static let defaultQuery = AlbumQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Album" }
}

private struct AlbumQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [Album] { identifiers.map { Album(id: $0) } }
}

/// Remembers what was opened.
private final class Navigation: Sendable {
    private let places = Mutex<[String]>([])
    func go(_ place: String) { places.withLock { $0.append(place) } }
    var visited: [String] { places.withLock { $0 } }
}

@UnionValue
private enum Found {
    case poster(Poster)
    case album(Album)
}

@AppIntent(schema: .visualIntelligence.semanticContentSearch)
private struct SearchIntent: AppIntent {
    static let title: LocalizedStringResource = "Search in app"
    var semanticContent: SemanticContentDescriptor
    @Dependency(key: "semantic-search") var navigation: Navigation

    func perform() async throws -> some IntentResult {
        navigation.go("search \(semanticContent.labels.joined(separator: "+"))")
        return .result()
    }
}

struct MacroTests {
    @Test func aUnionValueHasTheEntityOfItsCase() {
        let found: Found = .poster(Poster(id: 3))
        #expect((found.entity as? Poster)?.id == 3)
        #expect(found.displayRepresentation.title.localized() == "Poster 3")
        #expect(Found.entityTypes.map { "\($0)" } == ["Poster", "Album"])
    }

    @Test func theContentSearchIntentIsGivenWhatWasLookedAt() async throws {
        let navigation = Navigation()
        AppDependencyManager.shared.add(key: "semantic-search", dependency: navigation)
        let type: any SemanticContentSearchIntent.Type = SearchIntent.self
        try await type.search(for: SemanticContentDescriptor(labels: ["poster", "moon"]))
        #expect(navigation.visited == ["search poster+moon"])
    }

    /// The names of Foundation and of the engine come with the macros.
    @Test func oneImportSuffices() throws {
        let pixels = try PixelBuffer([UInt8](repeating: 9, count: 12), width: 2, height: 2, format: .rgb8)
        let content = SemanticContentDescriptor(pixelBuffer: pixels)
        #expect(content.pixelBuffer?.height == 2 && Data([1]).count == 1 && Date.distantPast < .now)
        #expect(throws: CatalogError.self) { try Catalog(at: URL(fileURLWithPath: "/nowhere")) }
    }
}
