import CatalogEntities
package import CatalogSearch
import Compute
package import FeaturePrints
package import Imaging

/// Options of a search in JSON, as other programs send them.
package struct SearchRequest: Decodable, Sendable {
    /// 10 without it.
    let limit: Int?
    let effort: String?
    let `where`: String?
    let minConfidence: Double?
    let maxDistance: Double?
    let maxObjects: Int?
    let recall: Double?
    let codes: [String]?
    let texts: [String]?
    /// How many entities that merely resemble the query to add.
    package let similar: Int?
    /// Whether to fold matches with the same picture.
    package let groupDuplicates: Bool?
    /// What the entities are to show.
    package let words: String?
    package let wordsWeight: Double?
    /// The id of an entity that others are to resemble.
    package let similarTo: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, effort, `where`, minConfidence, maxDistance, maxObjects, recall, codes, texts, similar,
            groupDuplicates, words, wordsWeight, similarTo
    }

    /// The members that are read.
    package static let keys = CodingKeys.allCases.map(\.rawValue)

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

extension SearchRequest {
    /// Whether the query is no image.
    package var isWithoutImage: Bool { words != nil || similarTo != nil }

    /// The answer of a catalog.
    ///
    /// - Parameters:
    ///   - name: what the answer calls the query.
    ///   - image: the image to search with; nil for a print, or if ``isWithoutImage``.
    ///   - print: its print instead.
    ///   - options: those of ``options()``.
    package func answer(
        of catalog: Catalog, named name: String, image: PixelBuffer?, print: FeaturePrint? = nil,
        options: SearchOptions
    ) async throws -> SearchAnswer {
        let query: CatalogQuery
        switch (image, print, words, similarTo) {
        case (nil, let print?, nil, nil): query = try await catalog.query(for: [print], options: options)
        case (let image, nil, let words?, nil):
            query = try await catalog.query(
                describedBy: words, beside: image, weight: wordsWeight ?? 0.5, options: options)
        case (nil, nil, nil, let id?): query = try await catalog.query(similarTo: id)
        case (let image?, nil, nil, nil): query = try await catalog.query(for: image, options: options)
        default:
            throw SearchRequestError(
                description: "a query is an image, a print, words, an image and words, or an entity: give one")
        }
        let found = try await catalog.matches(of: query, options: options, areFolded: groupDuplicates ?? false)
        var similar: [CatalogMatch]?
        if let count = self.similar {
            var options = options
            options.limit = count
            similar = try await catalog.similar(to: query, besides: found.all, options: options)
        }
        return SearchAnswer(
            query: name, image: image, matches: found.shown, isComplete: query.isComplete,
            duplicates: found.duplicates, similar: similar)
    }
}

/// What is wrong with a request: words after “the request: ”.
package struct SearchRequestError: DescribedError {
    package let description: String
}
