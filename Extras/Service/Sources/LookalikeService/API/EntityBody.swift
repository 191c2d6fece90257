import Foundation
import Lookalike
import Multipart

/// An entity as it is put: metadata, and an image or a print.
struct EntityBody: Sendable {
    enum Source: Sendable {
        case image(Data)
        case print(FeaturePrint)
    }

    var entity: CatalogEntity
    let source: Source

    var item: IndexItem {
        switch source {
        case .image(let data): IndexItem(entity, image: .data(data))
        case .print(let print): IndexItem(entity, image: .print(print))
        }
    }
}

extension EntityBody {
    private static let fieldNames: Set<String> = ["type", "title", "subtitle", "labels"]

    /// An image with the fields of a query string or a form.
    init(id: String, image: Data, fields: RequestFields) throws(Problem) {
        try fields.check(Self.fieldNames, prefixes: ["attribute."])
        var attributes: [String: String] = [:]
        for (name, values) in fields.prefixed("attribute.") {
            guard values.count == 1 else {
                throw Problem(.invalidRequest, "An attribute has one value, and “\(name.prefix(64))” has several.")
            }
            attributes[name] = values[0]
        }
        self.init(
            entity: CatalogEntity(
                id: id, type: try fields.one("type"), title: try fields.one("title"),
                subtitle: try fields.one("subtitle"), labels: fields.list("labels"), attributes: attributes),
            source: .image(image))
        try checkText()
    }

    /// An entity as JSON.
    ///
    /// - Parameter id: the entity in the path; nil in a batch, whose lines have ids.
    init(id: String?, json data: Data) throws {
        let body = try Body(json: data)
        guard let id = try id ?? body.id.map(EntityID.checked) else {
            throw Problem(.invalidJSON, "“id” is missing.")
        }
        if let other = body.id, other != id { throw Problem(.invalidRequest, "“id” is not the id in the path.") }
        let source: Source
        switch (body.image, body.print) {
        case (let image?, nil): source = .image(image)
        case (nil, let print?): source = .print(print)
        default: throw Problem(.invalidRequest, "An entity has either an “image” or a “print”.")
        }
        self.init(
            entity: CatalogEntity(
                id: id, type: body.type, title: body.title, subtitle: body.subtitle, labels: body.labels ?? [],
                attributes: body.attributes ?? [:]), source: source)
        try checkText()
    }

    private static let maximumValues = 1000

    private func checkText() throws(Problem) { try Self.checkText(of: entity) }

    /// - Throws: ``Problem`` for metadata that cannot be stored.
    static func checkText(of entity: CatalogEntity) throws(Problem) {
        let texts =
            [entity.type, entity.title, entity.subtitle].compactMap(\.self) + entity.labels
            + entity.attributes.keys + entity.attributes.values
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw Problem(.invalidRequest, "The metadata has a NUL character.")
        }
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= 1 << 16 else {
            throw Problem(.invalidRequest, "The metadata has more than 65,536 bytes.")
        }
        guard entity.labels.count + entity.attributes.count <= maximumValues else {
            throw Problem(.invalidRequest, "The metadata has more than \(maximumValues) labels and attributes.")
        }
    }

    private struct Body: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, type, title, subtitle, labels, attributes, image, print
        }

        let id: String?
        let type: String?
        let title: String?
        let subtitle: String?
        let labels: [String]?
        let attributes: [String: String]?
        let image: Data?
        let print: FeaturePrint?
    }
}
