#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Lookalike
import Multipart
import NIOCore

/// `/v1/catalogs/{catalog}/entities/{id}`
struct EntityHandler: Sendable {
    let service: ServiceState

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let (name, id) = try Self.target(context)
        let fields = try RequestFields(query: request.uri.query)
        try fields.check(["typed"])
        let isTyped = try fields.flag("typed") ?? false
        let (entity, tag) = try await service.store.using(name) { served in
            let entity = try await Self.entity(id, of: served)
            return (entity, try await Self.tag(of: entity, in: served))
        }
        if TaggedBody.isKnown(tag, to: request) {
            return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "no-store"])
        }
        return Response(
            EntityAnswer(entity, catalog: name, links: service.links, isTyped: isTyped), headers: [.eTag: tag])
    }

    /// The entity tag of metadata and images: another one after each change that matters.
    static func tag(of entity: CatalogEntity, in served: ServedCatalog) async throws -> String {
        let answer = EntityAnswer(entity, catalog: served.name, links: .unsigned)
        var data = Data(ByteBuffer(json: answer).readableBytesView)
        // Other images may have the same thumbnail, and prints have none.
        for hash in try await served.local.contentHashes(for: entity.id) { data += hash }
        return TaggedBody(data).tag
    }

    /// The tag of the entity of an id; nil if there is none.
    static func tag(of id: String, in served: ServedCatalog) async throws -> String? {
        guard let entity = try await served.local.entities(for: [id]).first else { return nil }
        return try await tag(of: entity, in: served)
    }

    func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let (name, id) = try Self.target(context)
        _ = try EntityID.checked(id)
        _ = try await service.store.catalog(name)
        try service.checkDisk()
        try service.writePool.check(for: context.client)
        let held = try await service.bodies.read(request, for: context.client)
        let header = request.headers[.contentType] ?? "application/octet-stream"
        let query = try RequestFields(query: request.uri.query)
        let (fields, canUndo) = (query.without("undo"), try query.flag("undo") ?? false)
        let body = try await service.parsing(held.data, for: context.client, isPatient: true) {
            try Self.body($0, id: id, header: header, fields: fields)
        }
        let expected = EntityExpectation(request)
        let (entity, tag, isNew, isKept) = try await service.store.using(name) { served in
            let isNew = try await served.local.entities(for: [id]).isEmpty
            // At once, before the image is decoded; and again when nothing else is written.
            if let expected { try expected.check(try await Self.tag(of: id, in: served)) }
            try await service.check(body, for: served, from: context.client)
            let isKept = try await service.writePool.run(for: context.client) {
                guard canUndo || expected != nil else {
                    try await served.writer.put(body.item)
                    return false
                }
                return try await change(id, in: served, if: expected, canUndo: canUndo) {
                    try await $0.upsert(body.item)
                }
            }
            let entity = try await Self.entity(id, of: served)
            return (entity, try await Self.tag(of: entity, in: served), isNew, isKept)
        }
        // The images are in memory until they are written.
        withExtendedLifetime(held.claim) {}
        var headers = Self.headers(tag, canUndo: isKept)
        if isNew { headers[.location] = EntityAnswer.path(of: id, catalog: name, base: service.base) }
        return Response(
            EntityAnswer(entity, catalog: name, links: service.links), status: isNew ? .created : .ok, headers: headers)
    }

    /// The fields of the answer to a change.
    static func headers(_ tag: String, canUndo: Bool) -> HTTPFields {
        var headers: HTTPFields = [.eTag: tag]
        if canUndo, let field = HTTPField.Name("X-Undo") { headers[field] = "\(UndoCache.seconds)" }
        return headers
    }

    /// Changes an entity while nothing else is changed, if it is as is expected.
    ///
    /// - Returns: whether what it was is kept, to be put back.
    func change(
        _ id: String, in served: ServedCatalog, if expected: EntityExpectation?, canUndo: Bool = false,
        _ body: @escaping @Sendable (CatalogIndexer) async throws -> Void
    ) async throws -> Bool {
        try await served.writer.change { indexer in
            if let expected { try expected.check(try await Self.tag(of: id, in: served)) }
            let copy = canUndo ? try await computing { try indexer.copy(of: id) } : nil
            try await body(indexer)
            guard let copy, let tag = try await Self.tag(of: id, in: served) else { return false }
            return service.undos.keep(copy, of: id, in: served, replacedBy: tag)
        }
    }

    /// Puts back what the entity with the tag in `If-Match` took the place of.
    func undo(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let (name, id) = try Self.target(context)
        guard let given = request.headers[.ifMatch]?.trimmingCharacters(in: .whitespaces), given != "*" else {
            throw Problem(.invalidRequest, "“If-Match” has the ETag that the entity got when it replaced another one.")
        }
        try service.checkDisk()
        let (entity, tag) = try await service.store.using(name) { served in
            guard let copy = service.undos.copy(of: id, in: served, replacedBy: given) else {
                throw Problem(.undoExpired, "What the entity replaced is not kept, or not any more.")
            }
            _ = try await service.writePool.run(for: context.client) {
                try await change(id, in: served, if: EntityExpectation(request)) { indexer in
                    try await computing { try indexer.restore(copy) }
                }
            }
            let entity = try await Self.entity(id, of: served)
            return (entity, try await Self.tag(of: entity, in: served))
        }
        return Response(EntityAnswer(entity, catalog: name, links: service.links), headers: [.eTag: tag])
    }

    func patch(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        try EntityPatch.checkType(of: request)
        let (name, id) = try Self.target(context)
        _ = try await service.store.catalog(name)
        try service.checkDisk()
        let patch = try await EntityPatch.read(from: request, context, service)
        let expected = EntityExpectation(request)
        let (entity, tag) = try await service.store.using(name) { served in
            _ = try await service.writePool.run(for: context.client) {
                try await change(id, in: served, if: expected) { indexer in
                    try await indexer.update(id) { entity in
                        entity = patch.applied(to: entity)
                        try EntityBody.checkText(of: entity)
                    }
                }
            }
            let entity = try await Self.entity(id, of: served)
            return (entity, try await Self.tag(of: entity, in: served))
        }
        return Response(EntityAnswer(entity, catalog: name, links: service.links), headers: [.eTag: tag])
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let (name, id) = try Self.target(context)
        let expected = EntityExpectation(request)
        _ = try await service.store.using(name) { served in
            try await service.writePool.run(for: context.client) {
                try await change(id, in: served, if: expected) { try await $0.remove(id) }
            }
        }
        return Response(status: .noContent)
    }

    func thumbnail(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try RequestFields(query: request.uri.query)
        let imageID = context.parameters.get("image")
        try fields.check(imageID == nil ? ["image", "expires", "signature"] : ["expires", "signature"])
        let id = try context.entityID()
        let name: CatalogName
        let isOpen: Bool
        if let open = CatalogName(try context.pathComponent("catalog")),
            try service.links.isOpen(id, in: open, fields)
        {
            (name, isOpen) = (open, true)
        } else {
            if context.scope == nil, !fields.all("signature").isEmpty {
                throw Problem(.forbidden, "The link to the thumbnail has expired, or was not made by this service.")
            }
            try context.require(.read)
            (name, isOpen) = (try context.catalogName(), false)
        }
        let place = try fields.integer("image") ?? 0
        let stored = try await service.store.using(name) { served in
            _ = try await Self.entity(id, of: served)
            var place = place
            if let imageID { place = try await Self.place(of: imageID, in: id, of: served) }
            return try await served.local.storedThumbnail(for: id, image: place)
        }
        guard let data = stored else {
            throw Problem(.noThumbnail, "The catalog stores no such thumbnail of the entity.")
        }
        return Response(
            TaggedBody(data), type: "image/jpeg",
            cacheControl: isOpen ? "public, max-age=\(try service.links.cacheTime(fields))" : "private, no-cache",
            for: request)
    }

    static func target(_ context: ServiceContext) throws(Problem) -> (CatalogName, String) {
        (try context.catalogName(), try context.entityID())
    }

    static func entity(_ id: String, of served: ServedCatalog) async throws -> CatalogEntity {
        guard let entity = try await served.local.entities(for: [id]).first else {
            throw Problem(.unknownEntity, "The catalog has no entity “\(id)”.")
        }
        return entity
    }

    static func body(_ data: Data, id: String, header: String, fields: RequestFields) throws -> EntityBody {
        let type = HeaderValue(header)
        switch type.name {
        case "application/json":
            try fields.check([])
            return try EntityBody(id: id, json: data)
        case "multipart/form-data":
            try fields.check([])
            let form = try MultipartForm(data, contentType: header)
            let images = form.parts.filter { $0.name == "image" }.map(\.body)
            guard !images.isEmpty else { throw Problem(.invalidForm, "The form has no part “image”.") }
            return try EntityBody(id: id, images: images, fields: RequestFields(form, without: ["image"]))
        case _ where type.isOfImages:
            return try EntityBody(id: id, images: [data], fields: fields)
        default:
            throw Problem(
                .unsupportedMediaType,
                "An entity is an image (image/* or application/octet-stream), multipart/form-data or application/json.")
        }
    }
}

extension ServiceState {
    /// Checks an entity before it is queued to be written.
    ///
    /// - Throws: `ImageError`, and ``Problem``.
    func check(_ body: EntityBody, for served: ServedCatalog, from client: WorkClient) async throws {
        switch body.source {
        case .images(let images): for image in images { try await checkImage(image, for: client) }
        case .print(let print): try served.catalog.model.check(print)
        }
    }
}
#endif
