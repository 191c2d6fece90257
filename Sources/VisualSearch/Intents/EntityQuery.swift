/// Looks entities up by their ids.
public protocol EntityQuery: Sendable {
    /// The type of entities that are looked up.
    associatedtype Entity: AppEntity

    /// The entities with these ids, in the order of the ids, without those that no longer exist.
    func entities(for identifiers: [Entity.ID]) async throws -> [Entity]

    /// Suggestions before a search.
    func suggestedEntities() async throws -> [Entity]
}

extension EntityQuery {
    public func suggestedEntities() async throws -> [Entity] { [] }

    /// A dependency that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}

/// A query that can list all entities; for small numbers of entities.
public protocol EnumerableEntityQuery: EntityQuery {
    /// All entities of the type.
    func allEntities() async throws -> [Entity]
}

extension EnumerableEntityQuery {
    public func suggestedEntities() async throws -> [Entity] { try await allEntities() }
}

/// A query that finds entities by typed text.
public protocol EntityStringQuery: EntityQuery {
    /// The entities that match a typed text, best first.
    func entities(matching string: String) async throws -> [Entity]
}

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
