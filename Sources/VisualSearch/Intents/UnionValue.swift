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
