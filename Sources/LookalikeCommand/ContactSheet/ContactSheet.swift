import Foundation
import Lookalike

/// A picture of queries and their matches: a card per query, with outlines and frames in a color per match.
struct ContactSheet {
    struct Row {
        let name: String
        let query: PixelBuffer
        let matches: [CatalogMatch]
    }

    let rows: [Row]

    /// As much of a query as a sheet shows, to be kept until all queries are searched.
    static func tile(of image: PixelBuffer) -> PixelBuffer { layout.fitting(image, in: layout.query).pixels }

    private static let layout = CardLayout()
    /// A line of cards is no wider than this, unless one card is.
    private static let mostWidth = 2_000
    private static let gap = 16
    private static let background: Canvas.Color = (236, 237, 239)

    /// Draws the sheet.
    ///
    /// - Parameter name: what errors call it.
    func pngData(named name: String) throws -> Data {
        let layout = Self.layout
        let cardWidth = rows.map { layout.width(matchCount: $0.matches.count) }.max() ?? layout.width(matchCount: 0)
        let fitting = max(1, (Self.mostWidth - Self.gap) / (cardWidth + Self.gap))
        // As few lines as fit, and as few columns as those lines need.
        let lines = max(1, (rows.count + fitting - 1) / fitting)
        let columns = max(1, (rows.count + lines - 1) / lines)
        var canvas = Canvas(
            width: Self.gap + columns * (cardWidth + Self.gap), height: Self.gap + lines * (layout.height + Self.gap),
            color: Self.background)
        for (index, row) in rows.enumerated() {
            let area = Canvas.Area(
                x: Self.gap + index % columns * (cardWidth + Self.gap),
                y: Self.gap + index / columns * (layout.height + Self.gap), width: cardWidth, height: layout.height)
            MatchCard(row: row, layout: layout).draw(in: area, on: &canvas)
        }
        return try canvas.image().pngData(named: name)
    }
}
