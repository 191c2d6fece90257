import AppIntents
import VisualIntelligence

/// A result of a visual search: landmarks come first, then collections.
@UnionValue
public enum VisualSearchResult {
    case landmark(LandmarkEntity)
    case collection(CollectionEntity)
}

/// Answers the system's visual search.
public struct LandmarkIntentValueQuery: IntentValueQuery {
    @Dependency var modelData: ModelData

    public init() {}

    public func values(for input: SemanticContentDescriptor) async throws -> [VisualSearchResult] {
        guard let pixelBuffer: CVReadOnlyPixelBuffer = input.pixelBuffer else { return [] }
        return try await modelData.search(matching: pixelBuffer)
    }
}

/// “More results”: all of them, in the app.
@AppIntent(schema: .visualIntelligence.semanticContentSearch)
public struct ShowLandmarkSearchIntent: AppIntent {
    public static let title: LocalizedStringResource = "Search for Landmarks"
    public static let openAppWhenRun: Bool = true

    public var semanticContent: SemanticContentDescriptor

    @Dependency var modelData: ModelData
    @Dependency var navigation: Navigation

    public init() {}

    public func perform() async throws -> some IntentResult {
        guard let pixelBuffer = semanticContent.pixelBuffer else { return .result() }
        await navigation.showSearch(try await modelData.search(matching: pixelBuffer, limit: 100).count)
        return .result()
    }
}
