#if Service
import CatalogEntities
import Catalogs
import Digests
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Lookalike
import Multipart
import NIOCore

/// `/v1/catalogs/{catalog}/entities`: those that satisfy a condition.
struct EntitiesHandler: Sendable {
    let service: ServiceState

    struct Page: Encodable, Sendable {
        let entities: [SelectedFields]
        var facets: [SearchResponse.FacetAnswer]?
        var counts: [Count]?
        /// The cursor of the next page; nil at the end.
        let next: String?
    }

    /// How many entities of a list satisfy a condition.
    struct Count: Encodable, Sendable {
        let filter: String
        let count: Int
    }

    /// What a list has.
    private struct List: Sendable {
        let catalog: CatalogName
        let condition: Condition
        /// Nil for no search.
        let text: String?
        let order: EntityOrder?
        let facets: [EntityField]
        /// Conditions to count, with their texts.
        let counts: [(text: String, condition: Condition)]
        /// Nil for all.
        let selection: Set<EntityAnswer.CodingKeys>?
        let isTyped: Bool

        init(_ fields: RequestFields, of catalog: CatalogName) throws(Problem) {
            self.catalog = catalog
            condition = try EntitiesHandler.condition(try fields.one("filter") ?? "")
            text = try fields.one("text").flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
            if let text, !SearchRequest.isSearchable(text) {
                throw Problem(.invalidRequest, SearchRequest.textRule)
            }
            order = try Self.order(fields)
            facets = try fields.list("facets").map { name throws(Problem) in try SearchRequest.facet(name) }
            try SearchRequest.check(facets)
            counts = try fields.all("counts").map { text throws(Problem) in
                (text, try EntitiesHandler.condition(text))
            }
            guard counts.count <= Self.mostCounts else {
                throw Problem(.invalidRequest, "The list has more than \(Self.mostCounts) “counts”.")
            }
            selection = try EntityAnswer.selection(try fields.one("fields").map { _ in fields.list("fields") })
            isTyped = try fields.flag("typed") ?? false
        }

        /// Cursors begin with it, so that one of another order or text is refused.
        private var tag: String {
            let hash = SHA256.hash(Data("\(String(describing: order)) \(text ?? "")".utf8))
            return hash.prefix(3).map { String(Int($0) | 0x100, radix: 16).dropFirst() }.joined()
        }

        func cursor(of place: EntityPlace) -> String { "\(tag)-\(place)" }

        func place(_ cursor: String) throws(Problem) -> EntityPlace {
            guard cursor.hasPrefix("\(tag)-"), let place = EntityPlace(String(cursor.dropFirst(tag.count + 1))) else {
                throw EntitiesHandler.foreignCursor
            }
            return place
        }

        private static let mostCounts = 50

        private static func order(_ fields: RequestFields) throws(Problem) -> EntityOrder? {
            let kind = try fields.one("sort-as")
            guard kind == nil || kind == "date" else {
                throw Problem(.invalidRequest, "“sort-as” is not “date”.")
            }
            guard let text = try fields.one("sort") else {
                if kind != nil { throw Problem(.invalidRequest, "“sort-as” needs “sort”.") }
                return nil
            }
            let name = text.hasPrefix("-") ? text.dropFirst() : text[...]
            let field = EntityField(String(name))
            guard !name.isEmpty, field != .attribute(""), field != .label else {
                throw Problem(
                    .invalidRequest, "“sort” is “id”, “type”, “title”, “subtitle” or an attribute, possibly after “-”.")
            }
            return EntityOrder(field: field, isDescending: text.hasPrefix("-"), comparesDates: kind == "date")
        }
    }

    struct Change: Encodable, Sendable {
        var changed: Int?
        var deleted: Int?
    }

    /// Entities of which lines are in memory at once.
    private static let partOfLines = 256

    /// A page as JSON, or all that follow as lines of JSON.
    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let name = try context.catalogName()
        let fields = try RequestFields(query: request.uri.query)
        try fields.check([
            "filter", "fields", "limit", "cursor", "sort", "sort-as", "text", "facets", "counts", "typed",
        ])
        let list = try List(fields, of: name)
        let limit = try fields.integer("limit")
        guard limit.map({ (1...SearchRequest.maximumLimit).contains($0) }) ?? true else {
            throw Problem(.invalidRequest, "“limit” is not in 1…\(SearchRequest.maximumLimit).")
        }
        let place = try fields.one("cursor").map(list.place)
        guard Self.wantsLines(request) else {
            let late = Problem(
                .timeLimit, "The list takes longer than \(service.configuration.limits.requestTime).")
            return Response(
                try await context.working(limit: service.configuration.limits.requestTime, else: late) {
                    try await page(list, limit ?? 100, place, context)
                })
        }
        guard limit == nil, list.facets.isEmpty, list.counts.isEmpty else {
            throw Problem(
                .invalidRequest, "Lines have no “limit”, “facets” and “counts”: they end with the last entity.")
        }
        // What a client reads slowly must not hold the database: the list holds rows, whose entities are read in parts.
        let (id, rows) = try await service.store.using(name) { served in
            try await service.printPool.run(for: context.client) {
                guard
                    let rows = try await served.local.rows(
                        where: list.condition, text: list.text, order: list.order, after: place)
                else { throw Self.foreignCursor }
                return (served.id, rows)
            }
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                for start in stride(from: 0, to: rows.count, by: Self.partOfLines) {
                    let part = rows[start..<min(start + Self.partOfLines, rows.count)]
                    let lines = try await self.lines(of: part, of: list, in: id, context)
                    if lines.readableBytes > 0 { try await writer.write(lines) }
                }
                try await writer.finish(nil)
            })
    }

    /// Some entities of a list as lines of JSON, without those that were removed meanwhile.
    ///
    /// - Parameter id: the catalog that has the rows. If another one has taken its place, the answer is cut off.
    private func lines(
        of rows: ArraySlice<Int64>, of list: List, in id: UUID, _ context: ServiceContext
    ) async throws -> ByteBuffer {
        try await service.store.using(list.catalog) { served in
            guard served.id == id else { throw Problem(.unknownCatalog, "The catalog was replaced meanwhile.") }
            return try await service.printPool.run(for: context.client, isPatient: true) {
                let stored = try await served.local.storedEntities(forKeys: Array(rows))
                var buffer = ByteBuffer()
                for entity in rows.compactMap({ stored[$0]?.entity }) {
                    buffer.writeImmutableBuffer(ByteBuffer(json: answer(entity, of: list)))
                    buffer.writeString("\n")
                }
                return buffer
            }
        }
    }

    private func answer(_ entity: CatalogEntity, of list: List) -> SelectedFields {
        SelectedFields(
            answer: EntityAnswer(entity, catalog: list.catalog, links: service.links, isTyped: list.isTyped),
            selection: list.selection)
    }

    /// Changes the metadata of all entities that satisfy a condition.
    func patch(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        try EntityPatch.checkType(of: request)
        let name = try context.catalogName()
        let (condition, atMost) = try Self.selection(request)
        _ = try await service.store.catalog(name)
        try service.checkDisk()
        let patch = try await EntityPatch.read(from: request, context, service)
        let count = try await service.store.using(name) { served in
            try await service.writePool.run(for: context.client) {
                try await served.writer.change { indexer in
                    let ids = try await Self.ids(where: condition, atMost: atMost, in: served.local)
                    try await indexer.update(ids) { entity in
                        entity = patch.applied(to: entity)
                        try EntityBody.checkText(of: entity)
                    }
                    return ids.count
                }
            }
        }
        return Response(Change(changed: count))
    }

    /// Removes all entities that satisfy a condition.
    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        let (condition, atMost) = try Self.selection(request)
        let count = try await service.store.using(name) { served in
            try await service.writePool.run(for: context.client) {
                try await served.writer.change { indexer in
                    let ids = try await Self.ids(where: condition, atMost: atMost, in: served.local)
                    if !ids.isEmpty { try await computing { try indexer.removeAll(ids) } }
                    return ids.count
                }
            }
        }
        return Response(Change(deleted: count))
    }

    private func page(
        _ list: List, _ limit: Int, _ place: EntityPlace?, _ context: ServiceContext
    ) async throws -> Page {
        try await service.store.using(list.catalog) { served in
            try await service.printPool.run(for: context.client) {
                guard
                    let (entities, next) = try await served.local.page(
                        where: list.condition, text: list.text, order: list.order, limit: limit, after: place)
                else { throw Self.foreignCursor }
                let facets =
                    list.facets.isEmpty
                    ? nil : try await served.facets(where: list.condition, text: list.text, by: list.facets)
                let counts =
                    list.counts.isEmpty
                    ? nil
                    : zip(
                        list.counts,
                        try await served.local.counts(
                            of: list.counts.map(\.condition), where: list.condition, text: list.text)
                    ).map { Count(filter: $0.text, count: $1) }
                return Page(
                    entities: entities.map { answer($0, of: list) }, facets: facets, counts: counts,
                    next: next.map(list.cursor))
            }
        }
    }

    private static var foreignCursor: Problem {
        Problem(.invalidRequest, "The cursor is not one of this list: it holds for the same “sort” and “text”.")
    }

    /// - Throws: ``Problem`` if the condition selects more entities than the request expects, and `CatalogError` if it
    ///   names a type that none has.
    private static func ids(where condition: Condition, atMost: Int?, in catalog: Catalog) async throws -> [String] {
        if let error = try await catalog.unknownTypes(in: condition).first { throw error }
        let ids = try await catalog.reduceEntities(into: [String](), where: condition) { $0.append($1.id) }
        if let atMost, ids.count > atMost {
            throw Problem(
                .preconditionFailed,
                "The filter selects \(ids.count) entities, and “at-most” is \(atMost); nothing was changed.")
        }
        return ids
    }

    private static func wantsLines(_ request: Request) -> Bool {
        request.headers[values: .accept].contains { value in
            value.split(separator: ",").contains { HeaderValue(String($0)).name == "application/x-ndjson" }
        }
    }

    /// The entities to change, and how many they may be. The condition has to be said: a missing one would change
    /// everything.
    private static func selection(_ request: Request) throws -> (condition: Condition, atMost: Int?) {
        let fields = try RequestFields(query: request.uri.query)
        try fields.check(["filter", "at-most"])
        let atMost = try fields.integer("at-most")
        if let atMost, atMost < 0 { throw Problem(.invalidRequest, "“at-most” is negative.") }
        guard let text = try fields.one("filter"), !text.allSatisfy(\.isWhitespace) else {
            throw Problem(.invalidRequest, "A “filter” says which entities; “everything” is all of them.")
        }
        return (try condition(text), atMost)
    }

    /// The condition that a filter states.
    ///
    /// - Throws: ``Problem`` for text that is none.
    static func condition(_ text: String) throws(Problem) -> Condition {
        guard text.utf8.count <= 8192, !text.utf8.contains(0) else {
            throw Problem(.invalidRequest, "The filter has more than 8192 bytes, or a NUL character.")
        }
        do {
            return try Condition(parsing: text)
        } catch {
            throw Problem(.invalidRequest, "The filter “\(text.prefix(256))” is not a condition: \(error.reason).")
        }
    }
}

/// An entity with some of its fields.
struct SelectedFields: Encodable, Sendable {
    let answer: EntityAnswer
    /// Nil for all.
    let selection: Set<EntityAnswer.CodingKeys>?

    func encode(to encoder: any Encoder) throws {
        guard let selection else { return try answer.encode(to: encoder) }
        var values = encoder.container(keyedBy: EntityAnswer.CodingKeys.self)
        for key in selection {
            switch key {
            case .id: try values.encode(answer.id, forKey: key)
            case .type: try values.encodeIfPresent(answer.type, forKey: key)
            case .title: try values.encodeIfPresent(answer.title, forKey: key)
            case .subtitle: try values.encodeIfPresent(answer.subtitle, forKey: key)
            case .labels: try values.encode(answer.labels, forKey: key)
            case .attributes: try values.encode(answer.attributes, forKey: key)
            case .thumbnail: try values.encode(answer.thumbnail, forKey: key)
            case .imageCount: try values.encodeIfPresent(answer.imageCount, forKey: key)
            }
        }
    }
}

extension EntityAnswer {
    /// The fields of a list of names.
    ///
    /// - Throws: ``Problem`` for a name that no field has.
    static func selection(_ names: [String]?) throws(Problem) -> Set<CodingKeys>? {
        guard let names else { return nil }
        var keys: Set<CodingKeys> = []
        for name in names {
            guard let key = CodingKeys(rawValue: name) else {
                let known = CodingKeys.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(.invalidRequest, "There is no field “\(name.prefix(64))”; there are \(known).")
            }
            keys.insert(key)
        }
        guard !keys.isEmpty else { throw Problem(.invalidRequest, "“fields” names no field.") }
        return keys
    }
}

/// What a request expects of an entity before it is changed (RFC 9110, section 13.1).
struct EntityExpectation: Sendable {
    /// `If-None-Match`: none of these tags; empty for no entity.
    private let others: [String]?
    /// `If-Match`: one of these tags; empty for any entity.
    private let tags: [String]?

    /// Nil if the request expects nothing.
    init?(_ request: Request) {
        func tags(_ field: HTTPField.Name) -> [String]? {
            let tags = request.headers[field]?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            // A proxy that compresses answers makes tags weak, and the entity is the same.
            return tags.map { $0.contains("*") ? [] : $0.map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 } }
        }
        (others, self.tags) = (tags(.ifNoneMatch), tags(.ifMatch))
        if others == nil, self.tags == nil { return nil }
    }

    /// - Parameter tag: that of the entity as it is; nil if there is none.
    /// - Throws: ``Problem`` if that is not expected.
    func check(_ tag: String?) throws(Problem) {
        if let others, let tag, others.isEmpty || others.contains(tag) {
            throw Problem(
                .preconditionFailed,
                others.isEmpty ? "There is an entity of this id already." : "The entity has the ETag \(tag).")
        }
        guard let tags else { return }
        guard let tag else { throw Problem(.preconditionFailed, "There is no entity of this id.") }
        guard tags.isEmpty || tags.contains(tag) else {
            throw Problem(.preconditionFailed, "The entity has been changed: its ETag is \(tag) now.")
        }
    }
}
#endif
