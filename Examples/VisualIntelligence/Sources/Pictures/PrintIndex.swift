import Vision

/// Prints of some hundred pictures, made once, that the print of another picture is compared with.
///
/// Examples/AlbumSearch has a catalog in files instead, with local features and filters.
public struct PrintIndex: Sendable {
    private var entries: [(id: String, featurePrint: FeaturePrintObservation)] = []

    public init() {}

    public mutating func add(_ picture: Picture, id: String) async throws {
        entries.append((id, try await GenerateImageFeaturePrintRequest().perform(on: picture)))
    }

    /// The ids of the nearest pictures within a distance, nearest first. Pictures up to 1 away show the same on Linux;
    /// on Apple's platforms an app tries which distance suits its pictures.
    public func nearest(to picture: Picture, limit: Int = 10, within distance: Double) async throws -> [String] {
        let wanted = try await GenerateImageFeaturePrintRequest().perform(on: picture)
        return try entries.map { ($0.id, try wanted.distance(to: $0.featurePrint)) }
            .filter { $0.1 <= distance }
            .sorted { $0.1 < $1.1 }
            .prefix(limit)
            .map(\.0)
    }
}
