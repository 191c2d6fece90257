import AppIntents

/// A painting of the gallery, as the system shows it.
public struct PaintingEntity: AppEntity {
    public var id: String
    @Property var name: String
    @Property var painter: String
    var picture: Data

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(
            title: "\(name)",
            subtitle: "\(painter)",
            image: .init(data: picture)
        )
    }

    public static let defaultQuery = PaintingEntityQuery()

    public static var typeDisplayRepresentation: TypeDisplayRepresentation { "Painting" }
}

public struct PaintingEntityQuery: EntityQuery {
    @Dependency var collection: PaintingCollection

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [PaintingEntity] {
        await collection.paintings(for: identifiers)
    }

    public func suggestedEntities() async throws -> [PaintingEntity] {
        await collection.all()
    }
}

/// A guided tour that has paintings of one painter.
public struct TourEntity: AppEntity {
    public var id: String
    @Property(title: "Painter") var painter: String
    @Property var room: String?

    public var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(
            title: "Tour of \(painter)", subtitle: "\(room ?? "Entrance")", image: .init(systemName: "figure.walk"))
    }

    public static let defaultQuery = TourEntityQuery()

    public static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(
            name: LocalizedStringResource("Tour", table: "Gallery", comment: "A walk through the gallery"),
            numericFormat: "\(placeholder: .int) tours")
    }
}

public struct TourEntityQuery: EnumerableEntityQuery {
    @Dependency var guide: TourGuide

    public init() {}

    public func entities(for identifiers: [String]) async throws -> [TourEntity] {
        guide.tours.filter { identifiers.contains($0.id) }
    }

    public func allEntities() async throws -> [TourEntity] { guide.tours }
}
