import AppIntents
import EventKit
import Vision
import VisualIntelligence

struct Poster: AppEntity {
    let id: String
    var displayRepresentation: DisplayRepresentation { "\(id)" }
    static let defaultQuery = PosterQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Poster" }
}

struct PosterQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [Poster] { identifiers.map { Poster(id: $0) } }
}

@UnionValue
enum Found {
    case poster(Poster)
}

struct FoundQuery: IntentValueQuery {
    func values(for input: SemanticContentDescriptor) async throws -> [Found] {
        guard let pixels = input.pixelBuffer else { return [] }
        let observation = try await GenerateImageFeaturePrintRequest().perform(on: pixels)
        return try observation.distance(to: observation) < 1 ? [.poster(Poster(id: "1"))] : []
    }
}

func access() async throws -> Bool { try await EKEventStore().requestFullAccessToEvents() }
