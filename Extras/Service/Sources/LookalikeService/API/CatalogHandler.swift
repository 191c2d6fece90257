#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Lookalike
import Multipart

/// `/v1/catalogs` and `/v1/catalogs/{catalog}`
struct CatalogHandler: Sendable {
    let service: ServiceState

    struct Summary: Encodable, Sendable {
        let name: String
        let id: UUID?
        let entities: Int
    }

    struct Listing: Encodable, Sendable {
        let catalogs: [Summary]
    }

    struct Details: Encodable, Sendable {
        struct Model: Encodable, Sendable {
            let name: String
            let digest: String
            let dimension: Int
            /// Whether words find images.
            let readsTexts: Bool

            init(_ model: FeaturePrintModel) {
                (name, digest) = (model.identity.name, model.identity.digest)
                (dimension, readsTexts) = (model.dimension, model.readsTexts)
            }
        }

        struct Bytes: Encodable, Sendable {
            let database: Int64
            let matrix: Int64
            let invertedLists: Int64
        }

        let name: String
        let id: UUID?
        let entities: Int
        let entitiesWithLocalFeatures: Int
        let revision: Int64
        let types: [String: Int]
        let labels: [String: Int]
        let attributes: [String: Int]
        let model: Model
        let bytes: Bytes
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        var catalogs: [Summary] = []
        for name in try service.store.names() where context.isAllowed(name) {
            // A catalog that cannot be opened does not hide the others; a request for it says why.
            guard let (count, id) = try? await service.store.entry(name) else { continue }
            catalogs.append(Summary(name: name.description, id: id, entities: count))
        }
        return Response(Listing(catalogs: catalogs))
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let name = try context.catalogName()
        let limit = service.configuration.limits.requestTime
        let late = Problem(.timeLimit, "Counting the entities takes longer than \(limit).")
        let details = try await context.working(limit: limit, else: late) {
            try await service.store.using(name) { try await Self.details(of: $0, in: service.printPool) }
        }
        return Response(details)
    }

    func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        guard request.headers[.ifMatch] == nil, ["*", nil].contains(request.headers[.ifNoneMatch]) else {
            throw Problem(.invalidRequest, "A catalog has no ETag: “If-None-Match” is “*”, and “If-Match” is not used.")
        }
        let held = try await service.bodies.read(request, for: context.client)
        if (try? await service.store.catalog(name)) == nil { try service.checkDisk() }
        var options = Options()
        if !held.data.isEmpty {
            guard HeaderValue(request.headers[.contentType] ?? "").name == "application/json" else {
                throw Problem(.unsupportedMediaType, "The options of a catalog are application/json.")
            }
            options = try await service.parsing(held.data, for: context.client, isPatient: true) {
                try Options(json: $0)
            }
        }
        while true {
            let (served, isNew) = try await service.store.create(name, localFeatures: options.localFeatures ?? true)
            if !isNew, request.headers[.ifNoneMatch] != nil {
                throw Problem(.preconditionFailed, "There is a catalog of this name already.")
            }
            if let wanted = options.localFeatures, wanted != served.catalog.hasLocalFeatures {
                throw Problem(
                    .catalogExists, "The catalog is there already, \(wanted ? "without" : "with") local features.")
            }
            do {
                return Response(
                    try await Self.details(of: served, in: nil), status: isNew ? .created : .ok,
                    headers: isNew ? [.location: "\(service.base)/v1/catalogs/\(name)"] : [:])
            } catch {
                // If another request has removed it meanwhile, it is made again.
                if service.store.serves(served) { throw error }
            }
        }
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        // A client makes this path of an entity “..”, which a catalog that was made elsewhere may have.
        guard !request.uri.path.hasSuffix("/") else { throw Problem(.unknownPath, "There is nothing at this path.") }
        try await service.store.remove(try context.catalogName())
        return Response(status: .noContent)
    }

    /// Exchanges the names of two catalogs.
    func swap(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        guard HeaderValue(request.headers[.contentType] ?? "").name == "application/json" else {
            throw Problem(.unsupportedMediaType, "The other catalog is named by application/json.")
        }
        let held = try await service.bodies.read(request, for: context.client)
        let text = try await service.parsing(held.data, for: context.client, isPatient: true) {
            try Swap(json: $0).with
        }
        guard let other = CatalogName(text) else { throw Problem(.invalidRequest, CatalogName.rule) }
        try context.require(other)
        guard other != name else { throw Problem(.invalidRequest, "A catalog is not swapped with itself.") }
        try await service.store.swap(name, other) { try await service.tasks.check(thatNoneWritesTo: [name, other]) }
        return Response(status: .noContent)
    }

    private struct Swap: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable { case with }

        let with: String
    }

    /// A catalog with its counts, as JSON.
    ///
    /// - Parameter pool: where entities are counted; nil after a change, whose answer must not be refused.
    static func details(of served: ServedCatalog, in pool: WorkPool?) async throws -> Details {
        let catalog = served.catalog
        if !(catalog is Catalog) {
            return Details(
                name: served.name.description, id: nil, entities: catalog.count,
                entitiesWithLocalFeatures: catalog.hasLocalFeatures ? catalog.count : 0, revision: 0, types: [:],
                labels: [:], attributes: [:],
                model: Details.Model(catalog.model),
                bytes: Details.Bytes(database: 0, matrix: 0, invertedLists: 0))
        }
        let (info, vocabulary) = try await served.summary(in: pool)
        return Details(
            name: served.name.description, id: served.databaseID, entities: info.entityCount,
            entitiesWithLocalFeatures: info.entitiesWithLocalFeatures, revision: info.revision,
            types: Dictionary(info.typeCounts.map { ($0.value, $0.count) }, uniquingKeysWith: +).mostFrequent,
            labels: vocabulary.labels, attributes: vocabulary.attributes,
            model: Details.Model(catalog.model),
            bytes: Details.Bytes(
                database: info.databaseBytes, matrix: info.matrixBytes, invertedLists: info.invertedListBytes))
    }

    private struct Options: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable { case localFeatures }

        var localFeatures: Bool?

        init() {}
    }
}
#endif
