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

/// A property of an entity that the system may know; see ``AppEntity/Property``.
///
/// As in Apple's framework the entity's own initializer sets it. One that was not set is nil if its type is optional;
/// reading any other is a programming error.
@propertyWrapper
public struct EntityProperty<Value: Sendable>: Sendable {
    private var value: Value?
    /// The name of the property.
    public let title: LocalizedStringResource?

    /// A property without a name.
    public init() { title = nil }

    /// A property with a name.
    public init(title: LocalizedStringResource) { self.title = title }

    /// The value; nil if it was not set and may be nil.
    ///
    /// - Precondition: one that may not be nil was set before it is read.
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

    /// The property itself.
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
