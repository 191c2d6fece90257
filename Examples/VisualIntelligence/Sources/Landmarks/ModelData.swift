import AppIntents
import Pictures
import VisualIntelligence

/// A landmark, as the app stores it.
public struct Landmark: Sendable {
    public let id: String
    public let name: String
    public let continent: Continent
    public let hours: String?
    /// An image file of some hundred pixels.
    public let thumbnail: Data

    public init(id: String, name: String, continent: Continent, hours: String? = nil, thumbnail: Data) {
        self.id = id
        self.name = name
        self.continent = continent
        self.hours = hours
        self.thumbnail = thumbnail
    }
}

/// The app's landmarks and collections.
public final class ModelData: Sendable {
    let landmarks: [LandmarkEntity]
    let collections: [CollectionEntity]
    private let prints: PrintIndex

    /// - Parameters:
    ///   - landmarks: each with the picture that it is recognized by.
    ///   - collections: ids of landmarks, by name.
    public init(_ landmarks: [(landmark: Landmark, picture: Picture)], collections: [String: [String]]) async throws {
        var prints = PrintIndex()
        for (landmark, picture) in landmarks { try await prints.add(picture, id: landmark.id) }
        self.prints = prints
        self.landmarks = landmarks.map { LandmarkEntity($0.landmark) }
        self.collections = collections.sorted { $0.key < $1.key }.map {
            CollectionEntity(id: $0.key, name: $0.key, landmarkIDs: $0.value)
        }
    }

    var favorites: [LandmarkEntity] { Array(landmarks.prefix(3)) }

    func landmarks(for identifiers: [String]) -> [LandmarkEntity] {
        identifiers.compactMap { id in landmarks.first { $0.id == id } }
    }

    func landmarks(named text: String) -> [LandmarkEntity] {
        landmarks.filter { $0.name.localizedCaseInsensitiveContains(text) }
    }

    func landmarks(on continent: Continent?) -> [LandmarkEntity] {
        landmarks.filter { continent == nil || $0.continent == continent }
    }

    /// The landmarks that a captured picture shows, and then the collections that have one of them.
    func search(matching pixelBuffer: CVReadOnlyPixelBuffer, limit: Int = 10) async throws -> [VisualSearchResult] {
        guard let picture = pixelBuffer.picture else { return [] }
        let found = landmarks(for: try await prints.nearest(to: picture, limit: limit, within: 1))
        let ids = Set(found.map(\.id))
        return found.map { .landmark($0) }
            + collections.filter { !ids.isDisjoint(with: $0.landmarkIDs) }.map { .collection($0) }
    }
}

/// The screens of the app.
public actor Navigation {
    public private(set) var visited: [String] = []

    public init() {}

    public func showSearch(_ count: Int) { visited.append("search with \(count) results") }
    public func show(_ landmark: LandmarkEntity) { visited.append(landmark.name) }
}
