import AppIntents
import Foundation

/// A concert of one of the albums' artists.
struct ConcertEntity: AppEntity {
    var id: String
    @Property var artistName: String
    @Property var venue: String
    @Property var date: Date

    var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(
            title: "\(artistName) live", subtitle: "\(venue), \(date.formatted(.iso8601.year().month().day()))",
            image: .init(systemName: "music.mic"))
    }

    static let defaultQuery = ConcertEntityQuery()

    static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(name: "Concert", numericFormat: "\(placeholder: .int) concerts")
    }
}

struct ConcertEntityQuery: EntityQuery {
    @Dependency var concertFinder: ConcertFinder

    func entities(for identifiers: [String]) async throws -> [ConcertEntity] {
        concertFinder.concerts(for: identifiers)
    }
}
