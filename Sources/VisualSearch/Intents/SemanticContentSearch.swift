/// The search behind “More results”: the app opens with the captured content and shows all results.
///
/// `@AppIntent(schema: .visualIntelligence.semanticContentSearch)` makes an intent conform.
public protocol SemanticContentSearchIntent: AppIntent {
    /// The captured content to search for.
    var semanticContent: SemanticContentDescriptor { get set }
}

extension SemanticContentSearchIntent {
    /// Runs the search for the captured content.
    public static func search(for content: SemanticContentDescriptor) async throws {
        var intent = Self()
        intent.semanticContent = content
        _ = try await intent.perform()
    }
}

/// The forms that an intent can be declared to follow.
public struct AssistantSchema: Sendable {
    /// The schemas for visual intelligence.
    public struct VisualIntelligence: Sendable {
        /// ``SemanticContentSearchIntent``.
        public var semanticContentSearch: AssistantSchema {
            AssistantSchema(name: "visualIntelligence.semanticContentSearch")
        }
    }

    /// The name of the schema.
    public let name: String

    /// The schemas for visual intelligence.
    public static var visualIntelligence: VisualIntelligence { VisualIntelligence() }
}
