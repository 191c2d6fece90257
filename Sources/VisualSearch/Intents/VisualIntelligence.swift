import Imaging

/// Captured content: the pixels of a photo or of part of a screenshot, and words for what it shows. Either may be
/// missing.
public struct SemanticContentDescriptor: Sendable {
    /// The output of a classifier, such as `album` or `poster`.
    public let labels: [String]
    /// The captured pixels; nil for labels alone.
    public let pixelBuffer: CVReadOnlyPixelBuffer?

    /// Captured content. Without pixels and labels, searches find nothing.
    public init(labels: [String] = [], pixelBuffer: CVReadOnlyPixelBuffer? = nil) {
        self.labels = labels
        self.pixelBuffer = pixelBuffer
    }
}

/// Core Video's name for a buffer of pixels, as handlers use it. Core Video's functions do not exist here.
public typealias CVReadOnlyPixelBuffer = PixelBuffer

/// Finds an app's values for captured content. The query whose input is a ``SemanticContentDescriptor`` is the app's
/// visual search.
public protocol IntentValueQuery: Sendable {
    /// The captured content, such as ``SemanticContentDescriptor``.
    associatedtype Input: Sendable
    /// The type of the values that are found.
    associatedtype Value: Sendable

    /// The values for captured content, best first.
    func values(for input: Input) async throws -> [Value]
}

extension IntentValueQuery {
    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}

/// A result that is one of several types of entities. `@UnionValue` makes an enumeration conform.
public protocol UnionValueProtocol: Sendable {
    /// The entity of whichever case it is.
    var entity: any AppEntity { get }
    /// The types, in the order of the cases.
    static var entityTypes: [any AppEntity.Type] { get }
}

extension UnionValueProtocol {
    /// How the entity is displayed.
    public var displayRepresentation: DisplayRepresentation { entity.displayRepresentation }
}

/// The search behind “More results”: the app opens with the captured content and shows all results.
///
/// `@AppIntent(schema: .visualIntelligence.semanticContentSearch)` makes an intent conform.
public protocol SemanticContentSearchIntent: AppIntent {
    /// The captured content to search for.
    var semanticContent: SemanticContentDescriptor { get set }
}

extension SemanticContentSearchIntent {
    /// The search for the captured content, to be performed by ``OpenIntents/perform(_:)``.
    public init(for content: SemanticContentDescriptor) {
        self.init()
        semanticContent = content
    }

    /// Runs the search for the captured content.
    public static func search(for content: SemanticContentDescriptor) async throws {
        _ = try await Self(for: content).perform()
    }
}

/// The forms that an intent can be declared to follow.
public struct AssistantSchema: Sendable {
    /// The schemas for visual intelligence.
    public static var visualIntelligence: VisualIntelligence { VisualIntelligence() }

    /// The schemas for visual intelligence.
    public struct VisualIntelligence: Sendable {
        /// The schema of a ``SemanticContentSearchIntent``.
        public var semanticContentSearch: AssistantSchema { AssistantSchema() }
    }
}
