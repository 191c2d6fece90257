#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Lookalike
import Metrics
import Multipart

/// `POST /v1/catalogs/{catalog}/search`, and `GET` for words.
struct SearchHandler: Sendable {
    let service: ServiceState

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let start = ContinuousClock.now
        let name = try context.catalogName()
        _ = try await service.store.catalog(name)
        let type = HeaderValue(request.headers[.contentType] ?? "application/octet-stream")
        if type.name != "application/json" { try service.imagePool.check(for: context.client) }
        let fields = try RequestFields(query: request.uri.query)
        if request.method != .post {
            return try await respond(to: try SearchRequest(words: fields), in: name, context, start: start)
        }
        let held = try await service.bodies.read(request, for: context.client)
        let header = request.headers[.contentType] ?? ""
        let parse: @Sendable (Data) throws -> SearchRequest = {
            try Self.search($0, type: type, header: header, fields: fields)
        }
        // The body is the image, and waits for a place as one.
        let search =
            type.isOfImages && !ImageText.isDataURL(held.data)
            ? try parse(held.data) : try await service.parsing(held.data, for: context.client, parse)
        return try await respond(to: search, in: name, context, holding: held.claim, start: start)
    }

    /// - Parameter claim: counts for as long as the body is in memory.
    private func respond(
        to search: SearchRequest, in name: CatalogName, _ context: ServiceContext, holding claim: (any Sendable)? = nil,
        start: ContinuousClock.Instant
    ) async throws -> Response {
        let limit = service.configuration.limits.requestTime
        let wait = Problem(.timeLimit, "The search takes longer than \(limit).")
        return Response(
            try await context.working(limit: limit, else: wait) {
                defer { withExtendedLifetime(claim) {} }
                return try await service.store.using(name, isSearch: true) { catalog in
                    try await self.answer(search, catalog, for: context.client, start: start)
                }
            })
    }

    private static func search(
        _ data: Data, type: HeaderValue, header: String, fields: RequestFields
    ) throws -> SearchRequest {
        switch type.name {
        case "application/json":
            try fields.check([])
            return try SearchRequest(json: data)
        case "multipart/form-data":
            try fields.check([])
            let form = try MultipartForm(data, contentType: header)
            guard let image = form["image"] else { throw Problem(.invalidForm, "The form has no part “image”.") }
            return try SearchRequest(image: image.body, fields: RequestFields(form, without: ["image"]))
        case _ where type.isOfImages:
            return try SearchRequest(image: data, fields: fields)
        default:
            throw Problem(
                .unsupportedMediaType,
                "A search is an image (image/* or application/octet-stream), multipart/form-data or application/json.")
        }
    }

    private func answer(
        _ search: SearchRequest, _ served: ServedCatalog, for client: WorkClient, start: ContinuousClock.Instant
    ) async throws -> SearchResponse {
        let timings = StageTimings()
        let received = ContinuousClock.now
        var answer: SearchResponse
        var admitted = received
        switch search.subject {
        case .image(let data):
            answer = try await service.withImage(
                data, options: decodingOptions(for: search, of: served.catalog), for: client, timings: timings,
                admitted: { admitted = .now }
            ) { image in
                try await imageAnswer(image, search, served, timings, since: received)
            }
        case .words(let words, nil):
            answer = try await service.imagePool.run(for: client) {
                admitted = .now
                return try await wordsAnswer(words, nil, search, served, timings)
            }
        case .words(let words, let data?):
            answer = try await service.withImage(
                data, options: decodingOptions(for: search, of: served.catalog), for: client, timings: timings,
                admitted: { admitted = .now }
            ) { image in try await wordsAnswer(words, image, search, served, timings) }
        case .print(let print):
            answer = try await service.printPool.run(for: client) {
                admitted = .now
                let query = try await served.catalog.query(
                    for: [print], options: SearchOptions(condition: search.condition, timings: timings))
                return try await ranking(of: query, search, served, timings, region: nil)
            }
        case .kept(let id):
            answer = try await service.printPool.run(for: client) {
                admitted = .now
                let kept = try service.queries.entry(id, of: served, condition: search.condition)
                var answer = try await ranking(of: kept.query, search, served, timings, region: kept.region)
                answer.query = id
                return answer
            }
        case .entity(let id):
            answer = try await service.printPool.run(for: client) {
                admitted = .now
                return try await similar(to: id, search, served, timings)
            }
        case .text(let text):
            answer = try await service.printPool.run(for: client) {
                admitted = .now
                let found = try await served.local.search(
                    text: text, limit: search.limit, condition: search.condition)
                return SearchResponse(
                    entities: found, catalog: served.name, links: service.links, isTyped: search.isTyped)
            }
        case .listing:
            answer = try await service.printPool.run(for: client) {
                admitted = .now
                return try await listing(search, served)
            }
        }
        switch search.subject {
        // The first page says whether there is a match.
        case .image, .print: if search.cursor == nil { service.metrics.search(found: !answer.results.isEmpty) }
        default: break
        }
        answer.timings = service.metrics.record(timings, receive: received - start, wait: admitted - received)
        answer.timings["work"] = (ContinuousClock.now - admitted).milliseconds
        answer.timings["total"] = (ContinuousClock.now - start).milliseconds
        return answer
    }

    private func decodingOptions(for search: SearchRequest, of catalog: any SearchableCatalog) -> DecodingOptions {
        var options = service.configuration.limits.decoding
        let needs = catalog.decodingOptions(for: search.effort)
        (options.neededSize, options.largeImages) = (needs.neededSize, needs.largeImages)
        if let region = search.region, let needed = options.neededSize {
            options.neededSize = (
                Int(Double(needed.width) / region.width), Int(Double(needed.height) / region.height)
            )
            options.largeImages = needs.largeImages.map {
                ($0.above, Int(Double($0.keptLongSide) / max(region.width, region.height)))
            }
        }
        return options
    }

    private func imageAnswer(
        _ image: PixelBuffer, _ search: SearchRequest, _ served: ServedCatalog, _ timings: StageTimings,
        since received: ContinuousClock.Instant
    ) async throws -> SearchResponse {
        var image = image
        if let region = search.region { image = try image.cropped(to: region.pixels(of: image)) }
        let query = try await served.catalog.query(
            for: image,
            options: SearchOptions(
                condition: search.condition, effort: search.effort,
                maxObjects: search.maxObjects ?? SearchOptions.defaultMaxObjects,
                budget: search.within.map { TimeBudget($0 - (ContinuousClock.now - received)) }, timings: timings))
        var answer = try await ranking(of: query, search, served, timings, region: search.region)
        answer.query = service.queries.keep(
            query, of: served, condition: search.condition, region: search.region)
        return answer
    }

    private func wordsAnswer(
        _ words: String, _ image: PixelBuffer?, _ search: SearchRequest, _ served: ServedCatalog,
        _ timings: StageTimings
    ) async throws -> SearchResponse {
        var image = image
        if let region = search.region { image = try image.map { try $0.cropped(to: region.pixels(of: $0)) } }
        let query = try await served.catalog.query(
            describedBy: words, beside: image, weight: search.wordsWeight ?? 0.5,
            options: SearchOptions(timings: timings))
        var answer = try await ranking(of: query, search, served, timings, region: nil)
        answer.query = service.queries.keep(query, of: served, condition: search.condition, region: nil)
        return answer
    }

    private func ranking(
        of query: CatalogQuery, _ search: SearchRequest, _ served: ServedCatalog, _ timings: StageTimings,
        region: ImageRegion?, standard: MatchBounds = .accepted
    ) async throws -> SearchResponse {
        let options = SearchOptions(
            limit: search.limit, bounds: search.bounds(or: standard), condition: search.condition,
            after: search.cursor, timings: timings)
        let matches = try await served.catalog.search(query, options: options)
        var answer = SearchResponse(
            matches: matches, limit: search.limit, catalog: served.name, links: service.links, region: region,
            isTyped: search.isTyped)
        if !search.facets.isEmpty {
            answer.facets = SearchResponse.answers(
                try await served.local.facets(of: query, by: search.facets, options: options))
        }
        answer.matchThreshold = query.matchThreshold.map(SearchResponse.rounded)
        answer.incomplete = try served.catalog.isComplete(query) ? nil : true
        return answer
    }

    /// More like an entity. What resembles it is not the same, so there is no threshold.
    private func similar(
        to id: String, _ search: SearchRequest, _ served: ServedCatalog, _ timings: StageTimings
    ) async throws -> SearchResponse {
        let query = try await served.local.query(similarTo: id)
        var answer = try await ranking(of: query, search, served, timings, region: nil, standard: .none)
        answer.matchThreshold = nil
        return answer
    }

    /// The entities that have the labels, types and attributes.
    private func listing(_ search: SearchRequest, _ served: ServedCatalog) async throws -> SearchResponse {
        let catalog = try served.local
        let (entities, next) = try await catalog.entities(
            where: search.condition, limit: search.limit, after: search.cursor)
        if entities.isEmpty {
            // Throws for an attribute that no entity has: its name was mistyped.
            for name in search.attributes.keys.sorted() {
                _ = try await catalog.entities(where: .attribute(name), isAnyOf: [""], limit: 1)
            }
        }
        var answer = SearchResponse(
            entities: entities, catalog: served.name, links: service.links, isTyped: search.isTyped)
        answer.next = next?.description
        return answer
    }
}

extension Duration {
    /// With a microsecond's precision.
    var milliseconds: Double { (self / .microseconds(1)).rounded() / 1000 }
}
#endif
