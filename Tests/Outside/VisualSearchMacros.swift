import VisualSearchMacros

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
