#if Service
import Foundation
import Lookalike

/// A search as it is asked for.
struct SearchRequest: Sendable {
    /// What is searched for.
    enum Subject: Sendable {
        /// The bytes of an image file.
        case image(Data)
        case print(FeaturePrint)
        /// More like this entity.
        case entity(String)
        case text(String)
        /// What words describe, and what resembles the image in the bytes of a file, if there is one.
        case words(String, image: Data?)
        /// All entities that pass the filter.
        case listing
        /// A query that was answered before.
        case kept(String)
    }

    var subject: Subject
    var limit = 10
    var maxDistance: Double?
    var minConfidence: Double?
    var effort = SearchEffort.standard
    /// The maximum number of objects to find in an image; nil for the library's default.
    var maxObjects: Int?
    /// The time for the analysis of an image; nil for as long as it takes.
    var within: Duration?
    /// The weight of words beside an image; nil for the library's default.
    var wordsWeight: Double?
    var types: [String] = []
    var labels: [String] = []
    var attributes: [String: [AttributeValue]] = [:]
    var filter = Condition.everything
    var region: ImageRegion?
    var cursor: SearchCursor?
    var facets: [EntityField] = []
    /// Whether attributes come as numbers and Booleans.
    var isTyped = false

    static let maximumLimit = 1000
    private static let maximumValues = 1000
    /// Each that is not an attribute is a pass over what matches.
    private static let maximumFacets = 20

    /// The entities that are searched.
    var condition: Condition {
        var parts: [Condition] = types.isEmpty ? [] : [.isAnyOf(.type, types.sorted())]
        parts += labels.sorted().map { .isAnyOf(.label, [$0]) }
        parts += attributes.sorted { $0.key < $1.key }.map { name, values in
            let texts = Condition.isAnyOf(.attribute(name), values.map(\.text).sorted())
            // Another text may be the same number.
            let numbers = values.compactMap(\.number).sorted().map { EntityField.attribute(name).isIn($0...$0) }
            return numbers.isEmpty ? texts : .any([texts] + numbers)
        }
        return filter.isEverything ? .all(parts) : .all(parts + [filter])
    }

    /// The bounds that were asked for, or `standard`.
    func bounds(or standard: MatchBounds) -> MatchBounds {
        guard maxDistance != nil || minConfidence != nil else { return standard }
        return MatchBounds(
            minConfidence: minConfidence ?? 0, maxDistance: maxDistance.map { .atMost($0) } ?? .unlimited)
    }

    /// - Throws: ``Problem`` for values that no search can have.
    func check() throws(Problem) {
        guard (1...Self.maximumLimit).contains(limit) else {
            throw Problem(.invalidRequest, "“limit” is not in 1…\(Self.maximumLimit).")
        }
        if let maxDistance, !(0...2).contains(maxDistance) {
            throw Problem(.invalidRequest, "The maximum distance is not in 0…2.")
        }
        if let minConfidence, !(0...1).contains(minConfidence) {
            throw Problem(.invalidRequest, "The minimum confidence is not in 0…1.")
        }
        if let maxObjects, !(1...Self.maximumLimit).contains(maxObjects) {
            throw Problem(.invalidRequest, "The maximum number of objects is not in 1…\(Self.maximumLimit).")
        }
        let values = types.count + labels.count + attributes.values.reduce(0) { $0 + 1 + $1.count } + facets.count
        guard values <= Self.maximumValues else {
            throw Problem(.invalidRequest, "The filters and facets have more than \(Self.maximumValues) values.")
        }
        try Self.check(facets)
        let texts = types + labels + attributes.keys + attributes.values.joined().map(\.text)
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw Problem(.invalidRequest, "A filter has a NUL character.")
        }
        guard !attributes.values.joined().contains(where: \.isList) else {
            throw Problem(.invalidRequest, "A value of “attributes” is a list; each is a text, a number or a Boolean.")
        }
        if let wordsWeight {
            guard case .words(_, .some) = subject, (0...1).contains(wordsWeight) else {
                throw Problem(.invalidRequest, "The weight of words is in 0…1, and for words beside an image.")
            }
        }
        switch subject {
        case .words(let words, let image):
            guard Self.isSearchable(words), words.contains(where: { !$0.isWhitespace }) else {
                throw Problem(.invalidRequest, "“words” is empty, has more than 1000 bytes, or has a NUL character.")
            }
            guard minConfidence == nil, maxObjects == nil, within == nil, effort == .standard else {
                throw Problem(
                    .invalidRequest,
                    "A search by words ranks by distance alone: it has no minimum confidence, no effort, no time and "
                        + "no maximum number of objects.")
            }
            if region != nil, image == nil {
                throw Problem(.invalidRequest, "A region is a part of an image, and there is none.")
            }
        case .text(let text) where !Self.isSearchable(text):
            throw Problem(.invalidRequest, Self.textRule)
        case .image: return
        case .text where cursor != nil:
            throw Problem(.invalidRequest, "A search by text has no cursor.")
        case .text, .listing:
            try checkIsUnranked()
            fallthrough
        default:
            if region != nil { throw Problem(.invalidRequest, "A region is a part of an image, and there is none.") }
            if maxObjects != nil {
                throw Problem(.invalidRequest, "The maximum number of objects is of an image, and there is none.")
            }
            if within != nil {
                throw Problem(.invalidRequest, "“within” is the time for an image, and there is none.")
            }
        }
    }

    static func isSearchable(_ text: String) -> Bool { text.utf8.count <= 1000 && !text.utf8.contains(0) }

    static let textRule = "The text has more than 1000 bytes, or a NUL character."

    /// - Throws: ``Problem`` for what only a ranking by distance has.
    private func checkIsUnranked() throws(Problem) {
        guard facets.isEmpty, maxDistance == nil, minConfidence == nil else {
            throw Problem(
                .invalidRequest, "A search without an image, a print or an entity has no facets and no bounds.")
        }
    }

    static func check(_ facets: [EntityField]) throws(Problem) {
        guard facets.count <= maximumFacets else {
            throw Problem(.invalidRequest, "The request asks for more than \(maximumFacets) facets.")
        }
        guard Set(facets).count == facets.count else { throw Problem(.invalidRequest, "A facet is named twice.") }
    }

    /// `type`, `label` or `attribute.NAME`.
    static func facet(_ text: String) throws(Problem) -> EntityField {
        switch text {
        case "type": .type
        case "label": .label
        case _ where text.hasPrefix("attribute.") && text.count > 10 && !text.utf8.contains(0):
            .attribute(String(text.dropFirst(10)))
        default: throw Problem(.invalidRequest, "A facet is “type”, “label” or “attribute.NAME”.")
        }
    }
}

extension SearchRequest {
    private static let fieldNames: Set<String> = [
        "limit", "max-distance", "min-confidence", "effort", "max-objects", "within", "types", "labels", "filter",
        "region", "cursor", "facets", "typed", "words", "words-weight",
    ]

    /// A search by words with the fields of a query string.
    init(words fields: RequestFields) throws(Problem) {
        guard let words = try fields.one("words") else {
            throw Problem(.invalidRequest, "A search by GET needs “words”; one by an image is a POST.")
        }
        self.init(subject: .words(words, image: nil))
        try read(fields)
    }

    /// A search for an image with the fields of a query string or a form.
    init(image: Data, fields: RequestFields) throws(Problem) {
        let bytes = try ImageText.bytes(image)
        self.init(subject: try fields.one("words").map { .words($0, image: bytes) } ?? .image(bytes))
        try read(fields)
    }

    private mutating func read(_ fields: RequestFields) throws(Problem) {
        try fields.check(Self.fieldNames, prefixes: ["attribute."])
        limit = try fields.integer("limit") ?? limit
        maxDistance = try fields.number("max-distance")
        minConfidence = try fields.number("min-confidence")
        if let text = try fields.one("effort") { effort = try Self.effort(text) }
        maxObjects = try fields.integer("max-objects")
        within = try fields.one("within").map(Self.time)
        wordsWeight = try fields.number("words-weight")
        (types, labels) = (fields.list("types"), fields.list("labels"))
        attributes = fields.prefixed("attribute.").mapValues { $0.map(AttributeValue.init(text:)) }
        if let text = try fields.one("filter") { filter = try EntitiesHandler.condition(text) }
        if let text = try fields.one("region") { region = try ImageRegion(text: text) }
        if let text = try fields.one("cursor") { cursor = try Self.cursor(text) }
        facets = try fields.list("facets").map { name throws(Problem) in try Self.facet(name) }
        isTyped = try fields.flag("typed") ?? false
        try check()
    }

    private static func time(_ text: String) throws(Problem) -> Duration {
        guard let time = Duration(searchTime: text) else {
            throw Problem(.invalidRequest, "“within” is not a time such as “100ms” or “2s”.")
        }
        return time
    }

    private static func effort(_ text: String) throws(Problem) -> SearchEffort {
        guard let effort = SearchEffort(rawValue: text) else {
            throw Problem(.invalidRequest, "“effort” is neither “prints” nor “standard”.")
        }
        return effort
    }

    static func cursor(_ text: String) throws(Problem) -> SearchCursor {
        guard let cursor = SearchCursor(text) else { throw Problem(.invalidRequest, "The cursor is not one of ours.") }
        return cursor
    }

    /// A search as JSON.
    init(json data: Data) throws {
        let body = try Body(json: data)
        self.init(subject: try body.subject)
        limit = body.limit ?? limit
        (maxDistance, minConfidence) = (body.maxDistance, body.minConfidence)
        if let text = body.effort { effort = try Self.effort(text) }
        maxObjects = body.maxObjects
        within = try body.within.map(Self.time)
        wordsWeight = body.wordsWeight
        (types, labels, attributes) = (body.types ?? [], body.labels ?? [], body.attributes ?? [:])
        filter = try body.filter.map(EntitiesHandler.condition) ?? filter
        region = body.region
        cursor = try body.cursor.map(Self.cursor)
        facets = try (body.facets ?? []).map(Self.facet)
        isTyped = body.typed ?? false
        try check()
    }

    private struct Body: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case image, print, entity, text, query, limit, maxDistance, minConfidence, effort, maxObjects, within
            case types, labels, attributes, filter, region, cursor, facets, typed, words, wordsWeight
        }

        let image: ImageText?
        let print: FeaturePrint?
        let entity: IDText?
        let text: String?
        let query: String?
        let limit: Int?
        let maxDistance: Double?
        let minConfidence: Double?
        let effort: String?
        let maxObjects: Int?
        let within: String?
        let types: [String]?
        let labels: [String]?
        let attributes: [String: [AttributeValue]]?
        let filter: String?
        let region: ImageRegion?
        let cursor: String?
        let facets: [String]?
        let typed: Bool?
        let words: String?
        let wordsWeight: Double?

        var subject: Subject {
            get throws(Problem) {
                let given: [Subject?] = [
                    words.map { .words($0, image: image?.data) } ?? image.map { .image($0.data) },
                    print.map { .print($0) }, entity.map { .entity($0.text) },
                    text.map { .text($0) }, query.map { .kept($0) },
                ]
                let subjects = given.compactMap(\.self)
                guard subjects.count <= 1 else {
                    throw Problem(
                        .invalidRequest,
                        "A search has one of “image”, “print”, “entity”, “text” and “query”, not several; “words” goes "
                            + "with “image” alone.")
                }
                if let subject = subjects.first { return subject }
                guard types != nil || labels != nil || attributes != nil || filter != nil else {
                    throw Problem(
                        .invalidRequest,
                        "A search needs “image”, “words”, “print”, “entity”, “text” or “query”, or a filter: "
                            + "“types”, “labels”, “attributes” or “filter”.")
                }
                return .listing
            }
        }
    }
}
#endif
