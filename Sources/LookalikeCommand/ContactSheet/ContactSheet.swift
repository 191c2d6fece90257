import Foundation
import Lookalike

/// A picture of queries and their matches, one row per query.
struct ContactSheet {
    struct Row {
        let query: PixelBuffer
        let matches: [CatalogMatch]
    }

    let rows: [Row]

    private static let tile = 180
    private static let gap = 12
    private static let captionHeight = 26
    private static let mostMatches = 5

    func write(to url: URL) throws {
        let columns = 1 + max(1, min(Self.mostMatches, rows.map(\.matches.count).max() ?? 0))
        let step = Self.tile + Self.gap
        let rowHeight = Self.tile + Self.captionHeight + Self.gap
        var canvas = Canvas(
            width: Self.gap + columns * step + 2 * Self.gap, height: Self.gap + max(1, rows.count) * rowHeight,
            color: (250, 250, 248))
        // A line sets the queries off from their answers.
        canvas.fill(x: Self.gap + step + Self.gap / 2, y: 0, width: 2, height: canvas.height, color: (205, 205, 200))
        for (index, row) in rows.enumerated() {
            let y = Self.gap + index * rowHeight
            draw(row.query, caption: "QUERY", x: Self.gap, y: y, on: &canvas)
            let first = 3 * Self.gap + step
            if row.matches.isEmpty { canvas.write("NO MATCH", x: first, y: y + Self.tile / 2, color: (150, 60, 50)) }
            for (rank, match) in row.matches.prefix(Self.mostMatches).enumerated() {
                guard let image = try? PixelBuffer(contentsOf: URL(fileURLWithPath: match.entity.image)) else {
                    continue
                }
                draw(
                    image, caption: String(format: "%d. %.3f", rank + 1, match.distance), x: first + rank * step, y: y,
                    on: &canvas)
            }
        }
        try canvas.image().pngData(named: url.path).write(to: url, options: .atomic)
    }

    private func draw(_ image: PixelBuffer, caption: String, x: Int, y: Int, on canvas: inout Canvas) {
        let scale = Double(Self.tile) / Double(max(image.width, image.height))
        let width = max(1, Int(Double(image.width) * scale))
        let height = max(1, Int(Double(image.height) * scale))
        let small = Resizer(width: width, height: height).resizedPixels(of: image)
        canvas.draw(small, x: x + (Self.tile - width) / 2, y: y + (Self.tile - height) / 2)
        canvas.write(
            caption, x: x + (Self.tile - Canvas.textWidth(caption)) / 2, y: y + Self.tile + 8, color: (60, 60, 60))
    }
}
