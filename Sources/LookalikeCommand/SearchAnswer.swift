import Lookalike

/// The matches of a query as JSON.
struct SearchAnswer: Encodable {
    struct Result: Encodable {
        let id: String
        let confidence: Double
        let distance: Double
        let inliers: Int
        /// Four corners in the query's pixels; nil for a match that was not verified.
        let outline: [[Double]]?
        let type: String?
        let title: String?
        let subtitle: String?
        let image: String
    }

    let query: String
    let results: [Result]

    /// - Parameter image: the query, in whose pixels outlines are written.
    init(query: String, image: PixelBuffer, matches: [CatalogMatch]) {
        self.query = query
        let size = image.sourceSize
        func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
        results = matches.map { match in
            Result(
                id: match.entity.id, confidence: rounded(match.confidence), distance: rounded(match.distance),
                inliers: match.inlierCount,
                outline: match.outline?.corners.map {
                    [tenths($0.x * Double(size.width)), tenths($0.y * Double(size.height))]
                },
                type: match.entity.type, title: match.entity.title, subtitle: match.entity.subtitle,
                image: match.entity.image)
        }
    }

    var line: String { get throws { try JSONLine.text(self) } }
}
