package import CatalogEntities
import Foundation

/// Changes of the metadata of entities, as JSON: an array of objects, each with an `id` and what is new (a merge patch,
/// RFC 7396). What is absent stays, and `null` and an empty text remove. Other keys than those of a manifest are
/// attributes.
package struct EntityChanges: Sendable {
    /// The new values of each entity, by its id.
    private var changes: [ExactText: [[String: JSONValue]]] = [:]
    /// The ids of the entities.
    package private(set) var ids: [String] = []

    /// Reads changes.
    ///
    /// - Throws: ``IndexProblem``, which names the first object that is none.
    package init(json text: String) throws(IndexProblem) {
        let data = Data(text.utf8)
        let shape = JSONShape(data)
        guard shape.nesting <= JSONValue.deepestNesting,
            let objects = try? JSONDecoder().decode([[String: JSONValue]].self, from: data)
        else { throw IndexProblem(subject: "the changes", reason: "are no JSON array of objects") }
        if let key = shape.repeatedKey {
            throw IndexProblem(subject: "the changes", reason: "have the key “\(key)” twice in one object")
        }
        for (index, object) in objects.enumerated() {
            let values = Dictionary(uniqueKeysWithValues: zip(Manifest.keys(Array(object.keys)), object.values))
            func problem(_ reason: String) -> IndexProblem {
                IndexProblem(subject: "entity \(index), counted from 0", reason: reason)
            }
            guard let id = values["id"]?.text, !id.isEmpty else { throw problem("has no id") }
            guard values["image"] == nil, values["images"] == nil else {
                throw problem("has images, which are changed by indexing them")
            }
            switch values["attributes"] {
            case .object, .null, nil: break
            default: throw problem("its “attributes” are not an object")
            }
            if changes[ExactText(id), default: []].isEmpty { ids.append(id) }
            changes[ExactText(id), default: []].append(values)
        }
    }

    /// Changes an entity as it is stored.
    package func apply(to entity: inout CatalogEntity) {
        for values in changes[ExactText(entity.id)] ?? [] {
            for (key, value) in values {
                let text = value == .null ? nil : value.text
                switch key {
                case "id": break
                case "type": entity.type = text
                case "title": entity.title = text
                case "subtitle": entity.subtitle = text
                case "labels": entity.labels = JSONValue.labels(of: values)
                case "attributes":
                    guard case .object(let attributes) = value else {
                        entity.attributes = [:]
                        break
                    }
                    for (name, value) in attributes { entity.attributes[name] = value == .null ? nil : value.text }
                default: entity.attributes[key] = text
                }
            }
        }
    }
}
