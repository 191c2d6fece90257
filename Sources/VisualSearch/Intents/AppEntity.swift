/// One thing of an app's content that can be found, shown and opened: an album, a product, a landmark.
public protocol AppEntity: Identifiable, Sendable where ID: Sendable {
    associatedtype DefaultQuery: EntityQuery where DefaultQuery.Entity == Self

    /// How entities of this kind are found again by their ids.
    static var defaultQuery: DefaultQuery { get }

    /// How this kind of entities is called.
    static var typeDisplayRepresentation: TypeDisplayRepresentation { get }

    /// How this entity is shown. Asked for often: keep its picture small and at hand.
    var displayRepresentation: DisplayRepresentation { get }
}

extension AppEntity {
    /// Marks what of an entity the system may know besides its display: `@Property var artist: String`.
    public typealias Property = EntityProperty
}

/// A property of an entity that is told to others; see ``AppEntity/Property``.
///
/// As in Apple's framework it is filled in the entity's own initialiser. Reading one that was not is a mistake in
/// the program.
@propertyWrapper
public struct EntityProperty<Value: Sendable>: Sendable {
    private var value: Value?
    /// What the property is called.
    public let title: LocalizedStringResource?

    public init() { title = nil }

    public init(title: LocalizedStringResource) { self.title = title }

    public var wrappedValue: Value {
        get {
            guard let value else { preconditionFailure("a property of type \(Value.self) was read before the entity's initialiser set it") }
            return value
        }
        set { value = newValue }
    }

    public var projectedValue: Self { self }
}

extension EntityProperty: Equatable where Value: Equatable {
    public static func == (a: Self, b: Self) -> Bool { a.value == b.value }
}

extension EntityProperty: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension EntityProperty: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        self.init()
        value = try Value(from: decoder)
    }
}

extension EntityProperty: Encodable where Value: Encodable {
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension KeyedDecodingContainer {
    /// A missing key is no error for a property that may be nil.
    public func decode<Value: Decodable>(
        _: EntityProperty<Value?>.Type, forKey key: Key
    ) throws -> EntityProperty<Value?> {
        var property = EntityProperty<Value?>()
        property.wrappedValue = try decodeIfPresent(Value.self, forKey: key)
        return property
    }
}
