import AppIntents

/// A landmark, as the system shows it.
public struct LandmarkEntity: IndexedEntity {
    public let id: String
    @Property(title: "Name") public var name: String
    @Property(title: "Continent") public var continent: Continent
    /// Nil for a landmark that is always open.
    @Property(title: "Opening Hours") public var hours: String?
    let thumbnail: Data

    init(_ landmark: Landmark) {
        id = landmark.id
        thumbnail = landmark.thumbnail
        name = landmark.name
        continent = landmark.continent
        hours = landmark.hours
    }

    public static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(
            name: LocalizedStringResource("Landmark", table: "AppIntents", comment: "A sight that people visit"),
            numericFormat: "\(placeholder: .int) landmarks")
    }

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: "\(name)", subtitle: "\(continent.rawValue)", image: .init(data: thumbnail))
    }

    public static let defaultQuery = LandmarkEntityQuery()
}

public struct LandmarkEntityQuery: EntityQuery {
    @Dependency var modelData: ModelData

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [LandmarkEntity] {
        modelData.landmarks(for: identifiers)
    }

    public func suggestedEntities() async throws -> [LandmarkEntity] { modelData.favorites }
}

extension LandmarkEntityQuery: EntityStringQuery {
    public func entities(matching string: String) async throws -> [LandmarkEntity] {
        modelData.landmarks(named: string)
    }
}

/// Some landmarks that belong together.
public struct CollectionEntity: AppEntity {
    public let id: String
    @Property(title: "Name") public var name: String
    let landmarkIDs: [String]

    init(id: String, name: String, landmarkIDs: [String]) {
        self.id = id
        self.landmarkIDs = landmarkIDs
        self.name = name
    }

    public static var typeDisplayRepresentation: TypeDisplayRepresentation { "Collection" }

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(title: "\(name)", subtitle: "\(landmarkIDs.count) landmarks")
    }

    public static let defaultQuery = CollectionEntityQuery()
}

public struct CollectionEntityQuery: EnumerableEntityQuery {
    @Dependency var modelData: ModelData

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [CollectionEntity] {
        modelData.collections.filter { identifiers.contains($0.id) }
    }

    public func allEntities() async throws -> [CollectionEntity] { modelData.collections }
}

/// The continent of a landmark.
public enum Continent: String, AppEnum {
    case africa, america, asia, europe, oceania

    public static let typeDisplayRepresentation: TypeDisplayRepresentation = "Continent"

    public static let caseDisplayRepresentations: [Continent: DisplayRepresentation] = [
        .africa: "Africa",
        .america: "America",
        .asia: DisplayRepresentation(title: "Asia", subtitle: "With the Middle East"),
        .europe: DisplayRepresentation(title: "Europe", image: .init(systemName: "globe.europe.africa")),
        .oceania: DisplayRepresentation(title: "Oceania", image: .init(named: "Reef")),
    ]
}
