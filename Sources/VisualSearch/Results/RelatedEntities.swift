import Foundation

/// Entities that share an attribute with others, such as concerts with the artists of albums.
public protocol RelatedEntitySource<Entity>: Sendable {
    /// The type of the related entities.
    associatedtype Entity: Sendable

    /// The entities whose attribute has one of the values, in the order of the values.
    ///
    /// One call serves all values, so that a store is asked once and not once per match.
    func entities(relatedBy attribute: String, to values: [String], limit: Int) async throws -> [Entity]
}

/// Entities in memory, indexed by one or more keys: for entities without an image, which no catalog has.
///
/// Keys are compared without regard to case and diacritics. O(keys + results) a lookup.
public struct RelatedEntityIndex<Entity: Sendable>: RelatedEntitySource {
    private let byAttribute: [String: [String: [Int]]]
    private let entities: [Entity]

    /// An index of entities.
    ///
    /// - Parameters:
    ///   - entities: the entities; those with the same key are returned in this order.
    ///   - attributes: the values that an entity is looked up by, by the name of the attribute.
    public init(_ entities: [Entity], by attributes: [String: (Entity) -> [String]]) {
        self.entities = entities
        byAttribute = attributes.mapValues { values in
            var places: [String: [Int]] = [:]
            for (place, entity) in entities.enumerated() {
                for key in Set(values(entity).map { $0.foldedForMatching }) { places[key, default: []].append(place) }
            }
            return places
        }
    }

    public func entities(relatedBy attribute: String, to values: [String], limit: Int = .max) -> [Entity] {
        guard let places = byAttribute[attribute] else { return [] }
        var seen: Set<Int> = []
        var found: [Entity] = []
        for value in values {
            for place in places[value.foldedForMatching] ?? [] where found.count < limit && seen.insert(place).inserted
            {
                found.append(entities[place])
            }
        }
        return found
    }
}

extension String {
    /// The text without the differences that people do not type: case, diacritics and full width.
    package var foldedForMatching: String {
        folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }
}
