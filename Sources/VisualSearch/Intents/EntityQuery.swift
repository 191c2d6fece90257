/// Finds entities again by their ids.
public protocol EntityQuery: Sendable {
    associatedtype Entity: AppEntity

    /// The entities with these ids, in the order asked; those that are gone are left out.
    func entities(for identifiers: [Entity.ID]) async throws -> [Entity]

    /// What to offer where nothing was asked for yet.
    func suggestedEntities() async throws -> [Entity]
}

extension EntityQuery {
    public func suggestedEntities() async throws -> [Entity] { [] }

    /// Something that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}

/// A query that can list all entities, since there are few.
public protocol EnumerableEntityQuery: EntityQuery {
    func allEntities() async throws -> [Entity]
}

extension EnumerableEntityQuery {
    public func suggestedEntities() async throws -> [Entity] { try await allEntities() }
}

/// A query that finds entities by what people type.
public protocol EntityStringQuery: EntityQuery {
    func entities(matching string: String) async throws -> [Entity]
}

/// From something that the system captured to the values that an app has for it. The one that takes a
/// ``SemanticContentDescriptor`` is an app's visual search.
public protocol IntentValueQuery: Sendable {
    associatedtype Input: Sendable
    associatedtype Value: Sendable

    func values(for input: Input) async throws -> [Value]
}

extension IntentValueQuery {
    /// Something that the app registered: `@Dependency var catalog: AlbumCatalog`.
    public typealias Dependency = AppDependency
}
