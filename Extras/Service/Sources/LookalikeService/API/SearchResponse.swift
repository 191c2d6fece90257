#if Service
import Foundation
import Lookalike

/// What a search found, as JSON.
struct SearchResponse: Encodable, Sendable {
    struct Result: Encodable, Sendable {
        let entity: EntityAnswer
        /// The place of the image that matches among the entity's images, from 0; nil for an entity with one image.
        var image: Int?
        /// The distance to the query; nil for a search by text.
        var distance: Double?
        var confidence: Double?
        var inliers: Int?
        /// Four corners as fractions of the query's sides; nil for a match that was not verified.
        var outline: [[Double]]?
        /// True for an entity that the query shows as in a mirror; nil otherwise.
        var mirrored: Bool?
    }

    struct FacetAnswer: Encodable, Sendable {
        let key: String
        let values: [Facet.Value]
    }

    var results: [Result]
    var facets: [FacetAnswer]?
    /// The cursor of the next page; nil at the end.
    var next: String?
    /// The id of the query, to search again without the image.
    var query: String?
    /// The match threshold of the query, a distance.
    var matchThreshold: Double?
    /// True if the time of the query was over before all was compared; nil otherwise.
    var incomplete: Bool?
    /// Milliseconds per stage.
    var timings: [String: Double] = [:]
}

extension SearchResponse {
    init(
        matches: [CatalogMatch], limit: Int, catalog: CatalogName, links: ThumbnailLinks, region: ImageRegion?,
        isTyped: Bool
    ) {
        results = matches.map { match in
            Result(
                entity: EntityAnswer(match.entity, catalog: catalog, links: links, isTyped: isTyped),
                image: match.entity.images.count > 1 ? match.imageIndex : nil,
                distance: Self.rounded(match.distance), confidence: Self.rounded(match.confidence),
                inliers: match.inlierCount,
                outline: match.outline?.corners.map { corner in
                    let point = region?.imagePoint(corner) ?? corner
                    return [Self.rounded(point.x), Self.rounded(point.y)]
                },
                mirrored: match.isMirrored ? true : nil)
        }
        if matches.count >= limit { next = matches.last.map { SearchCursor(after: $0).description } }
    }

    init(entities: [CatalogEntity], catalog: CatalogName, links: ThumbnailLinks, isTyped: Bool) {
        results = entities.map {
            Result(entity: EntityAnswer($0, catalog: catalog, links: links, isTyped: isTyped))
        }
    }

    /// The values of a facet that an answer has at most, the most frequent ones.
    static let mostValues = 1000

    static func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }

    static func answers(_ facets: [Facet]) -> [FacetAnswer] {
        facets.map { facet in
            let key =
                switch facet.field {
                case .attribute(let name): "attribute.\(name)"
                case let field: "\(field)"
                }
            return FacetAnswer(key: key, values: Array(facet.values.prefix(mostValues)))
        }
    }
}
#endif
