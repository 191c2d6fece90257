import CatalogEntities
package import CatalogSearch
import Compute

/// Options of a search in JSON, as other programs send them.
package struct SearchRequest: Decodable, Sendable {
    /// 10 without it.
    let limit: Int?
    let effort: String?
    let `where`: String?
    let minConfidence: Double?
    private(set) var maxDistance: Double?
    private(set) var maxObjects: Int?
    private(set) var recall: Double?
    private(set) var codes: [String]?
    private(set) var texts: [String]?
    /// How many entities that merely resemble the query to add.
    package private(set) var similar: Int?
    /// Whether to fold matches with the same picture.
    package private(set) var groupDuplicates: Bool?
    /// What the entities are to show.
    package private(set) var words: String?
    package private(set) var wordsWeight: Double?
    /// The id of an entity that others are to resemble.
    package private(set) var similarTo: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, effort, `where`, minConfidence, maxDistance, maxObjects, recall, codes, texts, similar,
            groupDuplicates, words, wordsWeight, similarTo
    }

    /// The members that are read.
    package static let keys = CodingKeys.allCases.map(\.rawValue)

    package init(
        limit: Int? = nil, effort: String? = nil, where condition: String? = nil, minConfidence: Double? = nil
    ) {
        (self.limit, self.effort, self.where, self.minConfidence) = (limit, effort, condition, minConfidence)
    }

    /// - Throws: ``SearchRequestError``.
    package func options() throws(SearchRequestError) -> SearchOptions {
        guard let effort = effort.map({ SearchEffort(rawValue: $0) }) ?? .standard else {
            throw SearchRequestError(description: "its effort is neither prints nor standard")
        }
        guard let limit = Optional(limit ?? 10), limit >= 0 else {
            throw SearchRequestError(description: "its limit is negative")
        }
        guard maxObjects ?? 1 >= 1, similar ?? 0 >= 0 else {
            throw SearchRequestError(description: "its maxObjects is not 1 or more, or its similar is negative")
        }
        var options = SearchOptions(
            limit: limit, effort: effort, maxObjects: maxObjects ?? SearchOptions.defaultMaxObjects,
            recall: recall ?? SearchOptions.defaultRecall, codes: codes ?? [], texts: texts ?? [])
        if minConfidence != nil || maxDistance != nil {
            options.bounds = MatchBounds(
                minConfidence: minConfidence ?? 0, maxDistance: maxDistance.map { .atMost($0) } ?? .unlimited)
        } else if similarTo != nil {
            // What resembles an entity is not that entity.
            options.bounds = .none
        }
        if let text = self.where {
            do {
                options.condition = try Condition(parsing: text)
            } catch {
                throw SearchRequestError(description: "its condition: \(error)")
            }
        }
        return options
    }
}

/// What is wrong with a request: words after “the request: ”.
package struct SearchRequestError: DescribedError {
    package let description: String
}
