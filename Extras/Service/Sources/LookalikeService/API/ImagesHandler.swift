#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike

/// `/v1/catalogs/{catalog}/entities/{id}/images`
extension EntityHandler {
    func images(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let (name, id) = try Self.target(context)
        let (list, tag) = try await service.store.using(name) { try await imageList(of: id, in: $0) }
        if TaggedBody.isKnown(tag, to: request) {
            return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "no-store"])
        }
        return Response(list, headers: [.eTag: tag])
    }

    func addImages(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let (name, id) = try Self.target(context)
        let query = try RequestFields(query: request.uri.query)
        try query.check(["undo"])
        let canUndo = try query.flag("undo") ?? false
        let expected = EntityExpectation(request)
        // Before the body is read.
        try await service.store.using(name) { _ = try await Self.entity(id, of: $0) }
        try service.checkDisk()
        try service.writePool.check(for: context.client)
        let held = try await service.bodies.read(request, for: context.client)
        let header = request.headers[.contentType] ?? "application/octet-stream"
        let body = try await service.parsing(held.data, for: context.client, isPatient: true) {
            try Self.body($0, id: id, header: header, fields: query.without("undo"))
        }
        guard body.entity.isStored(as: CatalogEntity(id: id)) else {
            throw Problem(.invalidRequest, "An image has no metadata; PATCH changes that of the entity.")
        }
        let (list, tag, isKept, isNew) = try await service.store.using(name) { served in
            let count = try await Self.entity(id, of: served).images.count
            if let expected { try expected.check(try await Self.tag(of: id, in: served)) }
            try await service.check(body, for: served, from: context.client)
            let isKept = try await service.writePool.run(for: context.client) {
                try await change(id, in: served, if: expected, canUndo: canUndo) { indexer in
                    let count = try await Self.entity(id, of: served).images.count
                    try EntityBody.check(imageCount: count + body.images.count)
                    try await indexer.add(body.images, to: id)
                }
            }
            let (list, tag) = try await imageList(of: id, in: served)
            return (list, tag, isKept, list.images.count > count)
        }
        withExtendedLifetime(held.claim) {}
        return Response(list, status: isNew ? .created : .ok, headers: Self.headers(tag, canUndo: isKept))
    }

    func removeImage(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let (name, id) = try Self.target(context)
        let image = try context.pathComponent("image")
        let query = try RequestFields(query: request.uri.query)
        try query.check(["undo"])
        let canUndo = try query.flag("undo") ?? false
        let expected = EntityExpectation(request)
        let (list, tag, isKept) = try await service.store.using(name) { served in
            let isKept = try await service.writePool.run(for: context.client) {
                try await change(id, in: served, if: expected, canUndo: canUndo) { indexer in
                    let place = try await Self.place(of: image, in: id, of: served)
                    guard try await Self.entity(id, of: served).images.count > 1 else {
                        throw Problem(.lastImage, "Add another image first, or remove the entity.")
                    }
                    try await indexer.removeImage(at: place, of: id)
                }
            }
            let (list, tag) = try await imageList(of: id, in: served)
            return (list, tag, isKept)
        }
        return Response(list, headers: Self.headers(tag, canUndo: isKept))
    }

    /// The place of an image among those of its entity.
    static func place(of image: String, in id: String, of served: ServedCatalog) async throws -> Int {
        _ = try await entity(id, of: served)
        guard let place = try await served.local.contentHashes(for: id).firstIndex(where: { ImageList.id($0) == image })
        else { throw Problem(.unknownImage, "The entity has no image “\(image)”.") }
        return place
    }

    private func imageList(of id: String, in served: ServedCatalog) async throws -> (ImageList, tag: String) {
        let entity = try await Self.entity(id, of: served)
        let images = try await served.local.contentHashes(for: id).map { hash in
            let image = ImageList.id(hash)
            return ImageList.Image(
                id: image, thumbnail: service.links.thumbnail(of: id, image: image, in: served.name))
        }
        return (ImageList(images: images), try await Self.tag(of: entity, in: served))
    }
}

/// The images of an entity, in order.
struct ImageList: Encodable, Sendable {
    struct Image: Encodable, Sendable {
        let id: String
        /// The path of the thumbnail on this service, signed if that is wanted.
        let thumbnail: String
    }

    let images: [Image]

    /// The name of an image, which it keeps when others are removed: a part of the hash of its contents.
    static func id(_ contentHash: Data) -> String {
        contentHash.prefix(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
#endif
