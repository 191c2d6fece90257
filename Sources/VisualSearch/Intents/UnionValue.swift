/// A result that is one of several kinds of entity; what `@UnionValue` makes of an enumeration.
public protocol UnionValueProtocol: Sendable {
    /// The entity of whichever case it is.
    var entity: any AppEntity { get }
    /// The kinds, in the order of the cases.
    static var entityTypes: [any AppEntity.Type] { get }
}

extension UnionValueProtocol {
    /// How the entity is shown.
    public var displayRepresentation: DisplayRepresentation { entity.displayRepresentation }
}
