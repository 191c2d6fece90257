import Foundation
import VisualSearch

/// Finds concerts by their artists, near a place and soon.
final class ConcertFinder: Sendable {
    struct Place: Sendable, Codable {
        let latitude: Double
        let longitude: Double

        /// The distance along a great circle, in kilometers (haversine formula).
        func distance(to other: Place) -> Double {
            let radians = Double.pi / 180
            let (dy, dx) = ((other.latitude - latitude) * radians / 2, (other.longitude - longitude) * radians / 2)
            let h = sin(dy) * sin(dy) + cos(latitude * radians) * cos(other.latitude * radians) * sin(dx) * sin(dx)
            return 2 * 6371 * asin(min(1, h.squareRoot()))
        }
    }

    /// A line of the file of concerts.
    private struct Record: Decodable {
        let id: String
        let artist: String
        let venue: String
        let date: Date
        let place: Place
    }

    private struct Concert: Sendable {
        let entity: ConcertEntity
        let place: Place
    }

    private let index: RelatedEntityIndex<Concert>
    private let byID: [String: ConcertEntity]
    private let here: Place
    private let today: Date

    init(contentsOf url: URL, here: Place, today: Date) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let lines = String(decoding: try Data(contentsOf: url), as: UTF8.self).split(separator: "\n")
        let concerts = try lines.map { line in
            let record = try decoder.decode(Record.self, from: Data(line.utf8))
            var entity = ConcertEntity(id: record.id)
            (entity.artistName, entity.venue, entity.date) = (record.artist, record.venue, record.date)
            return Concert(entity: entity, place: record.place)
        }
        index = RelatedEntityIndex(concerts, by: ["artist": { [$0.entity.artistName] }])
        byID = Dictionary(concerts.map { ($0.entity.id, $0.entity) }, uniquingKeysWith: { first, _ in first })
        self.here = here
        self.today = today
    }

    /// Concerts of the artists within `kilometers` and the next `days`, in the order of the artists and then of the
    /// file.
    func findNearby(byArtists artists: [String], kilometers: Double = 100, days: Int = 120) async -> [ConcertEntity] {
        let end = today.addingTimeInterval(Double(days) * 86_400)
        return index.entities(relatedBy: "artist", to: artists)
            .filter { (today...end).contains($0.entity.date) && $0.place.distance(to: here) <= kilometers }
            .map(\.entity)
    }

    func concerts(for identifiers: [String]) -> [ConcertEntity] { identifiers.compactMap { byID[$0] } }
}
