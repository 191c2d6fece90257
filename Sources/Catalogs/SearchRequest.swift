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

    private enum CodingKeys: String, CodingKey, CaseIterable { case limit, effort, `where`, minConfidence }

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
            throw SearchRequestError(description: "its effort is not prints, standard or thorough")
        }
        guard let limit = Optional(limit ?? 10), limit >= 0 else {
            throw SearchRequestError(description: "its limit is negative")
        }
        var options = SearchOptions(limit: limit, effort: effort)
        if let minConfidence {
            options.bounds = MatchBounds(minConfidence: minConfidence, maxDistance: .unlimited)
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
