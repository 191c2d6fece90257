import Foundation
import Lookalike

/// Draws a query with the outlines of its matches, and the matches beside it.
struct MatchCard {
    let row: ContactSheet.Row
    let layout: CardLayout

    private static let paper: Canvas.Color = (255, 255, 255)
    private static let ink: Canvas.Color = (44, 46, 52)
    private static let gray: Canvas.Color = (126, 128, 136)
    private static let frameWidth = 3
    private static let outlineWidth = 3.0
    /// Around outlines, so that they stand out from pictures of their own color.
    private static let haloWidth = 6.0
    /// Neighbors in the list differ most.
    private static let colors: [Canvas.Color] = [
        (0, 136, 255), (255, 109, 0), (0, 168, 84), (213, 0, 109), (124, 77, 255), (0, 172, 193), (229, 57, 53),
        (124, 179, 66), (57, 73, 171), (141, 110, 99), (249, 178, 0), (0, 121, 107),
    ]

    /// - Parameter area: the card; it may be wider than its tiles need.
    func draw(in area: Canvas.Area, on canvas: inout Canvas) {
        canvas.fill(area, color: Self.paper)
        let query = moved(layout.query, to: area)
        let picture = draw(row.query, in: query, on: &canvas)
        drawOutlines(over: picture, on: &canvas)
        write(row.name, below: query, dot: 2, color: Self.gray, on: &canvas)
        if row.matches.isEmpty, let empty = layout.match(0, of: 0).map({ moved($0, to: area) }) {
            write("NO MATCH", below: empty, lift: lift(of: empty), dot: 3, color: Self.gray, on: &canvas)
        }
        for (rank, match) in row.matches.enumerated() {
            guard let tile = layout.match(rank, of: row.matches.count).map({ moved($0, to: area) }) else { break }
            drawMatch(match, rank: rank, in: tile, on: &canvas)
        }
    }

    /// The surest is drawn last, above the others.
    private func drawOutlines(over picture: Canvas.Area, on canvas: inout Canvas) {
        for (rank, match) in row.matches.enumerated().reversed() {
            guard let outline = match.outline else { continue }
            let corners = outline.corners.map { corner in
                (
                    x: Double(picture.x) + corner.x * Double(picture.width),
                    y: Double(picture.y) + corner.y * Double(picture.height)
                )
            }
            canvas.stroke(corners, isClosed: true, lineWidth: Self.haloWidth, color: Self.paper, clip: picture)
            canvas.stroke(
                corners, isClosed: true, lineWidth: Self.outlineWidth, color: color(rank, match), clip: picture)
            // The image's own top left, which shows how it is turned.
            canvas.stroke([corners[0]], lineWidth: 3 * Self.outlineWidth, color: color(rank, match), clip: picture)
        }
    }

    private func drawMatch(_ match: CatalogMatch, rank: Int, in tile: Canvas.Area, on canvas: inout Canvas) {
        let color = color(rank, match)
        let inner = tile.inset(by: 2 * Self.frameWidth)
        if let image = try? PixelBuffer(contentsOf: URL(fileURLWithPath: match.entity.image)) {
            drawFrame(around: draw(image, in: inner, on: &canvas), color: color, on: &canvas)
        } else {
            // The catalog's image has been moved or deleted since it was indexed.
            drawFrame(around: inner, color: color, on: &canvas)
            write("GONE", below: tile, lift: lift(of: tile), dot: dot(for: tile), color: Self.gray, on: &canvas)
        }
        let caption = String(format: "%d. %.0f%%", rank + 1, 100 * match.confidence)
        write(caption, below: tile, dot: dot(for: tile), color: Self.ink, on: &canvas)
    }

    /// Gray for a match without an outline.
    private func color(_ rank: Int, _ match: CatalogMatch) -> Canvas.Color {
        match.outline == nil ? Self.gray : Self.colors[rank % Self.colors.count]
    }

    /// A thin frame with a strip of paper between it and the picture.
    private func drawFrame(around picture: Canvas.Area, color: Canvas.Color, on canvas: inout Canvas) {
        let (outer, width) = (picture.inset(by: -2 * Self.frameWidth), Self.frameWidth)
        for y in [outer.y, outer.y + outer.height - width] {
            canvas.fill(Canvas.Area(x: outer.x, y: y, width: outer.width, height: width), color: color)
        }
        for x in [outer.x, outer.x + outer.width - width] {
            canvas.fill(Canvas.Area(x: x, y: outer.y, width: width, height: outer.height), color: color)
        }
    }

    /// Draws an image as large as it fits, in the middle, and returns its area.
    private func draw(_ image: PixelBuffer, in tile: Canvas.Area, on canvas: inout Canvas) -> Canvas.Area {
        let (pixels, area) = layout.fitting(image, in: tile)
        canvas.draw(pixels, x: area.x, y: area.y)
        return area
    }

    /// Writes a caption below a tile, in its middle, or `lift` pixels higher; cut to the width of the tile.
    private func write(
        _ text: String, below tile: Canvas.Area, lift: Int = 0, dot: Int, color: Canvas.Color, on canvas: inout Canvas
    ) {
        var text = text
        if Canvas.textWidth(text, dot: dot) > tile.width {
            while !text.isEmpty, Canvas.textWidth(text + "…", dot: dot) > tile.width { text.removeLast() }
            text += "…"
        }
        let top = tile.y + tile.height + (layout.captionHeight - Canvas.textHeight(dot: dot) + 6) / 2
        canvas.write(
            text, x: tile.x + (tile.width - Canvas.textWidth(text, dot: dot)) / 2, y: top - lift, dot: dot, color: color
        )
    }

    /// Moves a caption from below a tile to its middle.
    private func lift(of tile: Canvas.Area) -> Int { (tile.height + layout.captionHeight) / 2 }

    private func dot(for tile: Canvas.Area) -> Int { tile.width < layout.tile ? 2 : 3 }

    private func moved(_ tile: Canvas.Area, to card: Canvas.Area) -> Canvas.Area {
        Canvas.Area(x: tile.x + card.x, y: tile.y + card.y, width: tile.width, height: tile.height)
    }
}
