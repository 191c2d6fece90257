package import Foundation

/// A state of the entities and prints of a catalog.
///
/// The number counts the changes. The token is random, so that two states that have the same number, such as after a
/// backup was restored and changed in another way, are never taken for each other.
package struct CatalogRevision: Hashable, Sendable {
    package let number: Int64
    package let token: UUID

    package init(number: Int64, token: UUID) { (self.number, self.token) = (number, token) }
}
