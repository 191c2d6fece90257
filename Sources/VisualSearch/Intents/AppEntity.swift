/// An entity of an app's content that can be found, displayed and opened: an album, a product, a landmark.
public protocol AppEntity: Identifiable, TypeDisplayRepresentable, InstanceDisplayRepresentable, Sendable
where ID: Sendable {
    /// The type of the query that looks entities up by id.
    associatedtype DefaultQuery: EntityQuery where DefaultQuery.Entity == Self

    /// The query that looks entities of this type up by their ids.
    static var defaultQuery: DefaultQuery { get }
}

extension AppEntity {
    /// Marks a property that the system may know besides the display: `@Property var artist: String`.
    public typealias Property = EntityProperty
}

/// An entity that a catalog can index by its display: see `IndexItem.init(indexing:type:)`.
public protocol IndexedEntity: AppEntity {}

/// A property of an entity that the system may know; see ``AppEntity/Property``.
///
/// The entity's initializer sets it, as in Apple's framework. A property that was not set is nil if its type is
/// optional; reading any other is a programming error.
@propertyWrapper
public struct EntityProperty<Value: Sendable>: Sendable {
    private var value: Value?
    /// The name of the property.
    public let title: LocalizedStringResource?

    /// A property without a name.
    public init() { title = nil }

    /// A property with a name.
    public init(title: LocalizedStringResource) { self.title = title }

    /// The value; nil if it was not set and its type is optional.
    ///
    /// - Precondition: a value whose type is not optional was set before it is read.
    public var wrappedValue: Value {
        get {
            guard let value = value ?? missingValue() else {
                fatalError(
                    "the property \(title.map { "“\($0.defaultValue)” " } ?? "")of type \(Value.self) was read before "
                        + "the entity's initializer set it")
            }
            return value
        }
        set { value = newValue }
    }
}

extension EntityProperty: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        self.init()
        value = try Value(from: decoder)
    }
}

extension KeyedDecodingContainer {
    /// Decodes a property of optional type: a missing key is nil and no error.
    public func decode<Value: Decodable>(
        _: EntityProperty<Value?>.Type, forKey key: Key
    ) throws -> EntityProperty<Value?> {
        var property = EntityProperty<Value?>()
        property.wrappedValue = try decodeIfPresent(Value.self, forKey: key)
        return property
    }
}

/// A fixed choice that people see: the cases of an enumeration, each with a name.
///
/// ```swift
/// enum Genre: String, AppEnum {
///     case ambient, jazz
///     static let typeDisplayRepresentation: TypeDisplayRepresentation = "Genre"
///     static let caseDisplayRepresentations: [Genre: DisplayRepresentation] = [.ambient: "Ambient", .jazz: "Jazz"]
/// }
/// ```
public protocol AppEnum: RawRepresentable, CaseIterable, Hashable, TypeDisplayRepresentable,
    InstanceDisplayRepresentable, Sendable
where RawValue: LosslessStringConvertible {
    /// How each case is displayed.
    static var caseDisplayRepresentations: [Self: DisplayRepresentation] { get }
}

extension AppEnum {
    /// How the case is displayed: by its raw value if it has no representation.
    public var displayRepresentation: DisplayRepresentation {
        Self.caseDisplayRepresentations[self] ?? DisplayRepresentation(title: "\(rawValue)")
    }

    /// The name of the case.
    public var localizedStringResource: LocalizedStringResource { displayRepresentation.title }
}

/// Looks entities up by their ids.
public protocol EntityQuery: Sendable {
    /// The type of entities that are looked up.
    associatedtype Entity: AppEntity

    /// The entities with these ids, in the order of the ids, without those that no longer exist.
    func entities(for identifiers: [Entity.ID]) async throws -> [Entity]

    /// Suggestions before a search; none by default.
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
