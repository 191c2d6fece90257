import Foundation
import Lookalike

/// A page of queries and their matches: a card per query, with outlines and frames in a color per match.
struct ContactSheet {
    private var cards: [HTML] = []
    private var matchedCount = 0

    /// The long side of a query's picture in pixels: a card's width on screens with two pixels per point.
    private static let querySide = 640
    /// The colors of outlines and frames; neighbors in the list differ most.
    private static let colors = [
        "#0088ff", "#ff6d00", "#00a854", "#d5006d", "#7c4dff", "#00acc1", "#e53935", "#7cb342", "#3949ab", "#8d6e63",
        "#f9b200", "#00796b",
    ]

    /// Adds a card.
    ///
    /// - Throws: `CatalogError` if the matches' pictures cannot be read, and `CancellationError`.
    mutating func add(_ query: PixelBuffer, named name: String, matches: [CatalogMatch], in catalog: Catalog)
        async throws
    {
        let picture = try Thumbnail.jpeg(of: query, longSide: Self.querySide, named: name)
        // The surest is drawn last, above the others.
        let outlines = matches.enumerated().reversed().compactMap { Self.outline(of: $1, rank: $0, in: query) }
        var items: [HTML] = []
        for (rank, match) in matches.enumerated() {
            let picture = try await SheetPage.picture(of: match.id, image: match.imageIndex, in: catalog)
            items.append(Self.item(match, rank: rank, picture: picture))
        }
        let list: HTML = items.isEmpty ? "<p>No match</p>" : "<ol>\n\(items)</ol>"
        matchedCount += items.isEmpty ? 0 : 1
        // An SVG inside another clips outlines that leave the picture.
        cards.append(
            """
            <article\(items.count > 3 ? SheetPage.wide : "")>
            <figure>
            <svg viewBox="0 0 \(query.width) \(query.height)" role="img" aria-label="\(name)">
            <svg width="\(query.width)" height="\(query.height)">
            <image width="\(query.width)" height="\(query.height)" href="\(SheetPage.address(of: picture))"/>
            \(outlines)</svg>
            </svg>
            <figcaption dir="auto">\(name)</figcaption>
            </figure>
            \(list)
            </article>

            """)
    }

    /// The page, in UTF-8.
    ///
    /// - Parameter condition: the entities that were searched.
    func data(searched condition: Condition) -> Data {
        let title = "\(matchedCount) of \(cards.count) \(cards.count == 1 ? "query" : "queries") matched"
        let note: HTML = condition.isEverything ? "" : "\n<p>Searched: <code>\(condition.description)</code></p>"
        return SheetPage.data(titled: title, note: note, cards: cards, style: Self.style)
    }

    // MARK: Parts of a card

    /// A match's outline in the query, with a dot at the top left corner of the match's own picture; nil without an
    /// outline. The dot shows how the picture is turned.
    private static func outline(of match: CatalogMatch, rank: Int, in query: PixelBuffer) -> HTML? {
        guard let corners = match.outline?.corners else { return nil }
        let points = corners.map {
            String(format: "%.1f,%.1f", $0.x * Double(query.width), $0.y * Double(query.height))
        }
        let all = points.joined(separator: " ")
        return """
            <g style="--color: \(color(rank, match))"><polygon class="halo" points="\(all)"/>\
            <polygon points="\(all)"/><path d="M\(points[0])h0"/></g>

            """
    }

    private static func item(_ match: CatalogMatch, rank: Int, picture: HTML) -> HTML {
        let entity = match.entity
        let title: HTML = entity.title.map { "<b dir=\"auto\">\($0)</b>" } ?? ""
        let subtitle: HTML = entity.subtitle.map { "<span dir=\"auto\">\($0)</span>" } ?? ""
        let image: HTML = match.imageName.map { "<span dir=\"auto\">\($0)</span>" } ?? ""
        return """
            <li style="--color: \(color(rank, match))">\(picture)<div>\(title)\(subtitle)\
            <code dir="auto">\(entity.id)</code>\(image)</div>\
            <data value="\(String(format: "%.4f", match.confidence))">\
            \(String(format: "%.0f\u{202F}%%", 100 * match.confidence))</data></li>

            """
    }

    /// The color of a match; gray without an outline.
    private static func color(_ rank: Int, _ match: CatalogMatch) -> String {
        match.outline == nil ? "#8a8d94" : colors[rank % colors.count]
    }

    private static let style: HTML = """
        figure > svg { display: block; width: 100%; aspect-ratio: 4 / 3; background: var(--well); }
        polygon, path { fill: none; stroke: var(--color); stroke-width: 3px; stroke-linejoin: round;
          stroke-linecap: round; vector-effect: non-scaling-stroke; }
        .halo { stroke: #fff; stroke-width: 6px; }
        path { stroke-width: 11px; }
        data { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }

        """
}
