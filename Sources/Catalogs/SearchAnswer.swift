package import CatalogEntities
package import CatalogSearch
package import FeaturePrints
import Foundation
package import Imaging

/// The matches of a query as JSON.
package struct SearchAnswer: Encodable {
    package struct Result: Encodable {
        let id: String
        let confidence: Double
        let distance: Double
        let inliers: Int
        /// Four corners in the query's pixels; nil for a match without local features in the query.
        let outline: [[Double]]?
        /// True for an image that the query shows as in a mirror; nil otherwise.
        let mirrored: Bool?
        /// `code` or `text` where what is written in the query names the entity; nil otherwise.
        let named: String?
        /// The ids of matches with the same picture; nil unless matches are folded.
        let duplicates: [String]?
        let type: String?
        let title: String?
        let subtitle: String?
        /// The path of the image that matches.
        let image: String
        /// Its place among the entity's images; nil if it is the only one.
        let imageIndex: Int?
    }

    let query: String
    package let results: [Result]
    /// True if the time was over before all was compared; nil otherwise.
    let incomplete: Bool?
    /// What resembles the query besides its matches; nil if it was not asked for.
    package let similar: [Result]?

    /// - Parameters:
    ///   - image: the query, nil for words; outlines are written in its pixels.
    ///   - isComplete: whether all was compared that the effort asks for.
    ///   - duplicates: the matches that are folded into each match, by its row; nil unless they are.
    ///   - similar: what resembles the query; nil unless it was asked for.
    package init(
        query: String, image: PixelBuffer?, matches: [CatalogMatch], isComplete: Bool = true,
        duplicates: [Int64: [String]]? = nil, similar: [CatalogMatch]? = nil
    ) {
        self.query = query
        incomplete = isComplete ? nil : true
        let size = image?.sourceSize ?? (width: 1, height: 1)
        func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        func result(_ match: CatalogMatch, duplicates: [Int64: [String]]? = nil) -> Result {
            Result(
                id: match.entity.id, confidence: Self.rounded(match.confidence), distance: Self.rounded(match.distance),
                inliers: match.inlierCount,
                outline: match.outline?.corners.map {
                    [tenths($0.x * Double(size.width)), tenths($0.y * Double(size.height))]
                },
                mirrored: match.isMirrored ? true : nil,
                named: match.isNamedByCode ? "code" : match.isNamedByText ? "text" : nil,
                duplicates: duplicates.map { $0[match.key] ?? [] },
                type: match.entity.type, title: match.entity.title, subtitle: match.entity.subtitle,
                image: match.image, imageIndex: match.entity.images.count > 1 ? match.imageIndex : nil)
        }
        results = matches.map { result($0, duplicates: duplicates) }
        self.similar = similar.map { $0.map { result($0) } }
    }

    package var line: String { get throws { try JSONLine.text(self) } }

    /// Confidences and distances have six digits in JSON.
    package static func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
}

/// A line of JSON with the labels of an image, nearest first.
package struct LabelAnswer: Encodable {
    package struct Row: Encodable {
        package let label: String
        package let distance: Double
        package let probability: Double?

        fileprivate init(label: String, distance: Double, probability: Double?) {
            self.label = label
            self.distance = SearchAnswer.rounded(distance)
            self.probability = probability.map(SearchAnswer.rounded)
        }
    }

    let image: String
    let labels: [Row]

    package init(image: String, labels: [Row]) { (self.image, self.labels) = (image, labels) }

    package var line: String { get throws { try JSONLine.text(self) } }
}

/// Labels that a model ranks for images, by the distances of prints.
package struct ImageLabels {
    private let labels: [String]
    private let prints: [FeaturePrint]
    private let model: FeaturePrintModel

    /// - Parameter template: a sentence with {} in the place of the label.
    /// - Throws: `ModelError` for a model that reads no texts.
    package init(_ labels: [String], template: String, model: FeaturePrintModel) throws {
        (self.labels, self.model) = (labels, model)
        prints = try labels.map {
            try model.featurePrint(describedBy: template.replacingOccurrences(of: "{}", with: $0))
        }
    }

    /// The labels for an image's print, nearest first.
    package func ranked(for print: FeaturePrint, limit: Int? = nil) throws -> [LabelAnswer.Row] {
        let distances = try prints.map { try print.distance(to: $0) }
        let probabilities = model.probabilities(ofDistances: distances)
        return labels.indices.sorted { (distances[$0], $0) < (distances[$1], $1) }.prefix(limit ?? .max).map {
            LabelAnswer.Row(label: labels[$0], distance: distances[$0], probability: probabilities?[$0])
        }
    }
}

/// A group of duplicates as JSON.
package struct DuplicateAnswer: Encodable {
    package struct Entity: Encodable {
        let id: String
        let image: String
        let title: String?
        let difference: DuplicateGroup.Difference?
        let distance: Double?
    }

    let reference: Entity
    let duplicates: [Entity]

    package init(_ group: DuplicateGroup) {
        func entity(
            _ entity: CatalogEntity, _ difference: DuplicateGroup.Difference? = nil, _ distance: Double? = nil
        ) -> Entity {
            Entity(
                id: entity.id, image: entity.image, title: entity.title, difference: difference,
                distance: distance.map(SearchAnswer.rounded))
        }
        reference = entity(group.reference)
        duplicates = group.duplicates.map { entity($0.entity, $0.difference, $0.distance) }
    }

    package var line: String { get throws { try JSONLine.text(self) } }
}
