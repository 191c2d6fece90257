#if Service
import CatalogEntities
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart

/// The body of a request that puts an entity: metadata, and images or a print.
struct EntityBody: Sendable {
    enum Source: Sendable {
        case images([Data])
        case print(FeaturePrint)
    }

    var entity: CatalogEntity
    let source: Source

    var images: [IndexImage] {
        switch source {
        case .images(let images): images.map { .data($0) }
        case .print(let print): [.print(print)]
        }
    }

    var item: IndexItem { IndexItem(entity, images: images) }
}

extension EntityBody {
    private static let fieldNames: Set<String> = ["type", "title", "subtitle", "labels"]

    /// Images with the fields of a query string or a form.
    init(id: String, images: [Data], fields: RequestFields) throws(Problem) {
        try fields.check(Self.fieldNames, prefixes: ["attribute."])
        var attributes: [String: String] = [:]
        for (name, values) in fields.prefixed("attribute.") {
            attributes[name] = values.count == 1 ? values[0] : JSONValue.array(values.map { .string($0) }).text
        }
        self.init(
            entity: CatalogEntity(
                id: id, type: try fields.one("type"), title: try fields.one("title"),
                subtitle: try fields.one("subtitle"), labels: fields.list("labels"), attributes: attributes),
            source: .images(try images.map(ImageText.bytes)))
        try check()
    }

    /// An entity as JSON.
    ///
    /// - Parameter id: the entity in the path; nil in a batch, whose lines have ids.
    init(id: String?, json data: Data) throws {
        let body = try Body(json: data)
        guard let id = try id ?? body.id.map({ try EntityID.checked($0.text) }) else {
            throw Problem(.invalidJSON, "“id” is missing.")
        }
        if let other = body.id?.text, other != id { throw Problem(.invalidRequest, "“id” is not the id in the path.") }
        let source: Source
        switch (body.image, body.images, body.print) {
        case (let image?, nil, nil): source = .images([image.data])
        case (nil, let images?, nil) where !images.isEmpty: source = .images(images.map(\.data))
        case (nil, nil, let print?): source = .print(print)
        default: throw Problem(.invalidRequest, "An entity has an “image”, “images” or a “print”.")
        }
        self.init(
            entity: CatalogEntity(
                id: id, type: body.type, title: body.title, subtitle: body.subtitle, labels: body.labels ?? [],
                attributes: (body.attributes ?? [:]).mapValues(\.text)), source: source)
        try check()
    }

    private static let maximumValues = 1000

    /// Each is decoded before it is written.
    private static let maximumImages = 256

    private func check() throws(Problem) {
        try Self.check(imageCount: images.count)
        try Self.checkText(of: entity)
    }

    /// - Throws: ``Problem`` for more images than an entity may have.
    static func check(imageCount: Int) throws(Problem) {
        guard imageCount <= maximumImages else {
            throw Problem(.invalidRequest, "The entity has \(imageCount) images; it may have \(maximumImages).")
        }
    }

    /// Checks metadata.
    ///
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
        let values = entity.attributes.values.reduce(0) { $0 + AttributeList.texts(of: $1).count }
        guard entity.labels.count + values <= maximumValues else {
            throw Problem(
                .invalidRequest, "The metadata has more than \(maximumValues) labels and values of attributes.")
        }
    }

    private struct Body: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, type, title, subtitle, labels, attributes, image, images, print
        }

        let id: IDText?
        let type: String?
        let title: String?
        let subtitle: String?
        let labels: [String]?
        let attributes: [String: AttributeValue]?
        let image: ImageText?
        let images: [ImageText]?
        let print: FeaturePrint?
    }
}

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
    private let attributes: Change<[String: AttributeValue?]>

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

    /// Throws unless a request says that its body is a patch.
    static func checkType(of request: Request) throws(Problem) {
        let type = HeaderValue(request.headers[.contentType] ?? "").name
        guard type == "application/json" || type == "application/merge-patch+json" else {
            throw Problem(
                .unsupportedMediaType, "A change is application/merge-patch+json or application/json.")
        }
    }

    /// The patch in the body of a request.
    static func read(
        from request: Request, _ context: ServiceContext, _ service: ServiceState
    ) async throws -> EntityPatch {
        let held = try await service.bodies.read(request, for: context.client)
        return try await service.parsing(held.data, for: context.client, isPatient: true) {
            try EntityPatch(json: $0)
        }
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
        case .set(let changes): for (name, value) in changes { entity.attributes[name] = value?.text }
        }
        return entity
    }
}

/// An entity as JSON, without the path of its image.
struct EntityAnswer: Encodable, Sendable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, type, title, subtitle, labels, attributes, thumbnail, imageCount
    }

    let id: String
    let type: String?
    let title: String?
    let subtitle: String?
    let labels: [String]
    let attributes: AttributesAnswer
    /// The path of the thumbnail on this service, signed if that is wanted.
    let thumbnail: String
    /// The number of images; nil for one.
    let imageCount: Int?

    init(_ entity: CatalogEntity, catalog: CatalogName, links: ThumbnailLinks, isTyped: Bool = false) {
        (id, type, title, subtitle) = (entity.id, entity.type, entity.title, entity.subtitle)
        labels = entity.labels
        attributes = AttributesAnswer(texts: entity.attributes, isTyped: isTyped)
        thumbnail = links.thumbnail(of: entity.id, in: catalog)
        imageCount = entity.images.count > 1 ? entity.images.count : nil
    }

    /// The path of an entity.
    static func path(of id: String, catalog: CatalogName, base: String) -> String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        allowed.formIntersection(CharacterSet(charactersIn: Unicode.Scalar(0)..<Unicode.Scalar(128)))
        let encoded = id.addingPercentEncoding(withAllowedCharacters: allowed)
        return "\(base)/v1/catalogs/\(catalog)/entities/\(encoded ?? "")"
    }
}

/// The rules for ids of entities.
enum EntityID {
    private static let maximumByteCount = 512

    /// The id, unless no request can name it. `lookalike index` stores longer ones than ``checked(_:)`` takes, and some
    /// with line ends.
    ///
    /// - Throws: ``Problem`` for such an id.
    static func named(_ id: String) throws(Problem) -> String {
        guard !id.isEmpty, id != ".", id != "..", !id.utf8.contains(0) else {
            throw Problem(.invalidRequest, "An entity's id is a text without NUL, and not “.” or “..”.")
        }
        return id
    }

    /// The id, unless the service cannot store it.
    ///
    /// - Throws: ``Problem`` for such an id.
    static func checked(_ id: String) throws(Problem) -> String {
        // Clients resolve both as path segments, even percent-encoded (WHATWG's URL standard): deleting such an entity
        // would delete the catalog.
        guard id != ".", id != ".." else { throw Problem(.invalidRequest, "An entity's id is not “.” or “..”.") }
        guard !id.isEmpty, id.utf8.count <= maximumByteCount,
            !id.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw Problem(
                .invalidRequest, "An entity's id has 1 to \(maximumByteCount) bytes and no control characters.")
        }
        return id
    }
}

extension ServiceContext {
    /// The entity in the path.
    func entityID() throws(Problem) -> String { try EntityID.named(try pathComponent("id")) }
}
#endif
