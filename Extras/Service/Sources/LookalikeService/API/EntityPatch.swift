import Foundation
import Lookalike

/// A change of an entity's metadata, as a JSON merge patch (RFC 7396): what is absent stays, `null` removes.
struct EntityPatch: RequestObject, Sendable {
    enum CodingKeys: String, CodingKey, CaseIterable { case type, title, subtitle, labels, attributes }

    private enum Change<Value: Sendable>: Sendable {
        case keep
        case remove
        case set(Value)
    }

    private let type: Change<String>
    private let title: Change<String>
    private let subtitle: Change<String>
    private let labels: Change<[String]>
    private let attributes: Change<[String: String?]>

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func change<Value: Decodable & Sendable>(_ key: CodingKeys) throws -> Change<Value> {
            guard values.contains(key) else { return .keep }
            return try values.decodeNil(forKey: key) ? .remove : .set(values.decode(Value.self, forKey: key))
        }
        type = try change(.type)
        title = try change(.title)
        subtitle = try change(.subtitle)
        labels = try change(.labels)
        attributes = try change(.attributes)
    }

    func applied(to entity: CatalogEntity) -> CatalogEntity {
        func changed<Value>(_ value: Value, _ change: Change<Value>, removed: Value) -> Value {
            switch change {
            case .keep: value
            case .remove: removed
            case .set(let new): new
            }
        }
        func changed(_ value: String?, _ change: Change<String>) -> String? {
            switch change {
            case .keep: value
            case .remove: nil
            case .set(let new): new
            }
        }
        var entity = entity
        entity.type = changed(entity.type, type)
        entity.title = changed(entity.title, title)
        entity.subtitle = changed(entity.subtitle, subtitle)
        entity.labels = changed(entity.labels, labels, removed: [])
        switch attributes {
        case .keep: break
        case .remove: entity.attributes = [:]
        case .set(let changes): for (name, value) in changes { entity.attributes[name] = value }
        }
        return entity
    }
}
