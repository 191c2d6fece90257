import AppIntents
import VisualIntelligence

/// Starts the program.
public enum GalleryApp {
    /// Fills the collection and registers what queries and intents depend on.
    #if swift(>=6)
    @MainActor
    #endif
    public static func start(
        _ paintings: [(id: String, name: String, painter: String, file: Data)], gallery: Gallery
    ) async throws {
        let collection = PaintingCollection.shared
        for painting in paintings {
            try await collection.add(
                id: painting.id, name: painting.name, painter: painting.painter, file: painting.file)
        }
        AppDependencyManager.shared.add(dependency: collection)
        AppDependencyManager.shared.add(dependency: TourGuide(painters: paintings.map { $0.painter }))
        AppDependencyManager.shared.add(dependency: gallery)
    }

    /// The opening nights that the calendar has within 90 days: the first ones that are found.
    @MainActor
    public static func openingNights(of painters: [String]) async throws -> [String] {
        let nights = OpeningNights(painters: painters)
        let following = Task { try await nights.follow() }
        while nights.nights.isEmpty { try await Task.sleep(nanoseconds: 5_000_000) }
        following.cancel()
        return nights.nights.map { $0.title }
    }
}
