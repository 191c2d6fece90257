import AppIntents
import VisualIntelligence

/// A result of a visual search.
@UnionValue
public enum GalleryResult {
    case painting(PaintingEntity)
    case tour(TourEntity)
}

/// Answers the system's visual search: the paintings that it shows, then tours that have their painters.
public struct GalleryQuery: IntentValueQuery {
    @Dependency var collection: PaintingCollection
    @Dependency var guide: TourGuide

    public init() {}

    public func values(for input: SemanticContentDescriptor) async throws -> [GalleryResult] {
        guard let pixelBuffer: CVReadOnlyPixelBuffer = input.pixelBuffer else { return [] }
        let paintings = try await collection.search(matching: pixelBuffer)
        let painters = paintings.map { $0.painter }
        let tours = await guide.tours(of: painters)
        return paintings.map { GalleryResult.painting($0) } + tours.map { GalleryResult.tour($0) }
    }
}

/// Answers it with one type of entity.
public struct PaintingQuery: IntentValueQuery {
    @Dependency var collection: PaintingCollection

    public init() {}

    public func values(for input: SemanticContentDescriptor) async throws -> [PaintingEntity] {
        guard let pixelBuffer = input.pixelBuffer else { return [] }
        return try await collection.search(matching: pixelBuffer)
    }
}

public struct OpenPaintingIntent: OpenIntent {
    public static let title: LocalizedStringResource = "Open Painting"

    @Parameter(title: "Painting", requestValueDialog: "Which painting do you want to see?")
    public var target: PaintingEntity

    @Dependency var gallery: Gallery

    public init() {}

    public static var parameterSummary: some ParameterSummary {
        Summary("Show \(\.$target)")
    }

    public func perform() async throws -> some IntentResult {
        await gallery.show(painting: target.id)
        return .result()
    }
}

/// The gallery shows the tour after this, so there is nothing to perform.
public struct OpenTourIntent: OpenIntent {
    public static let title: LocalizedStringResource = "Open Tour"

    @Parameter(title: "Tour")
    public var target: TourEntity

    public init() {}
}

@AppIntent(schema: .visualIntelligence.semanticContentSearch)
public struct GallerySearchIntent: AppIntent {
    public static let title: LocalizedStringResource = "Search in the gallery"
    public static let openAppWhenRun: Bool = true

    public var semanticContent: SemanticContentDescriptor

    @Dependency var collection: PaintingCollection
    @Dependency var gallery: Gallery

    public init() {}

    public func perform() async throws -> some IntentResult {
        guard let pixelBuffer = semanticContent.pixelBuffer else { return .result() }
        let paintings = try await collection.search(matching: pixelBuffer, limit: 100)
        await gallery.showSearch(paintings: paintings)
        return .result()
    }
}

/// How many postcards of a painting somebody wants.
public struct OrderPostcardsIntent: AppIntent {
    public static let title: LocalizedStringResource = "Order Postcards"

    @Parameter(title: "Painting", requestValueDialog: "Of which painting?") public var painting: PaintingEntity
    @Parameter(title: "Size", requestValueDialog: "Which size?") public var size: PostcardSize
    @Parameter(title: "Number", inclusiveRange: (1, 50), requestValueDialog: "How many?") public var number: Int

    public init() {}

    public static var parameterSummary: some ParameterSummary {
        Summary("Order \(\.$number) postcards of \(\.$painting)") {
            \.$size
        }
    }

    public func perform() async throws -> some IntentResult & ReturnsValue<Int> & ProvidesDialog {
        .result(value: number, dialog: "\(number) \(size.rawValue) postcards of \(painting.name) are yours.")
    }
}

public enum PostcardSize: String, AppEnum {
    case small, large

    public static let typeDisplayRepresentation: TypeDisplayRepresentation = "Size"
    public static let caseDisplayRepresentations: [PostcardSize: DisplayRepresentation] = [
        .small: "Small", .large: "Large",
    ]
}

/// The screens of the gallery.
public actor Gallery {
    public private(set) var visited: [String] = []

    public init() {}

    func show(painting id: String) { visited.append("painting \(id)") }
    public func show(tour id: String) { visited.append("tour \(id)") }
    func showSearch(paintings: [PaintingEntity]) { visited.append("search with \(paintings.count) paintings") }
}
