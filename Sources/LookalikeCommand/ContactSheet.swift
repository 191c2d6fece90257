import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

/// A page of queries and their matches: a card per query, with outlines and frames in a color per match.
///
/// The page is one file that loads nothing: it holds its pictures and its style, and has no script. It is HTML, and
/// also well-formed XML.
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

    /// Refuses a file whose name promises a picture.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ file: FilePath) throws {
        let ending = file.url.pathExtension
        guard ImageFormat.allFileExtensions.contains(ending.lowercased()) else { return }
        let page = file.url.deletingPathExtension().lastPathComponent + ".html"
        throw ValidationError("--sheet writes an HTML page, not .\(ending.escaped): name it \(page.escaped).")
    }

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
            items.append(Self.item(match, rank: rank, picture: try await Self.picture(of: match, in: catalog)))
        }
        let list: HTML = items.isEmpty ? "<p>No match</p>" : "<ol>\n\(items)</ol>"
        matchedCount += items.isEmpty ? 0 : 1
        // An SVG inside another clips outlines that leave the picture.
        cards.append(
            """
            <article\(items.count > 3 ? Self.wide : "")>
            <figure>
            <svg viewBox="0 0 \(query.width) \(query.height)" role="img" aria-label="\(name)">
            <svg width="\(query.width)" height="\(query.height)">
            <image width="\(query.width)" height="\(query.height)" href="\(Self.address(of: picture))"/>
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
        let page: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8"/>
            <meta name="viewport" content="width=device-width, initial-scale=1"/>
            <meta name="color-scheme" content="light dark"/>
            <meta http-equiv="Content-Security-Policy" content="\(Self.policy)"/>
            <title>\(title)</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <header>
            <h1>\(title)</h1>\(note)
            </header>
            <main>
            \(cards)</main>
            </body>
            </html>

            """
        return Data(page.text.utf8)
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
        return """
            <li style="--color: \(color(rank, match))">\(picture)<div>\(title)\(subtitle)\
            <code dir="auto">\(entity.id)</code></div>\
            <data value="\(String(format: "%.4f", match.confidence))">\
            \(String(format: "%.0f\u{202F}%%", 100 * match.confidence))</data></li>

            """
    }

    /// The stored thumbnail of a match, or its image; a note if the image was moved or deleted since it was indexed.
    private static func picture(of match: CatalogMatch, in catalog: Catalog) async throws -> HTML {
        do {
            if let jpeg = try await catalog.thumbnail(for: match.id) {
                return "<img alt=\"\" src=\"\(address(of: jpeg))\"/>"
            }
        } catch is ImageError {}
        return "<i>image missing</i>"
    }

    /// The color of a match; gray without an outline.
    private static func color(_ rank: Int, _ match: CatalogMatch) -> String {
        match.outline == nil ? "#8a8d94" : colors[rank % colors.count]
    }

    private static func address(of jpeg: Data) -> String { "data:image/jpeg;base64," + jpeg.base64EncodedString() }

    // MARK: Style

    /// The class of a card with many matches.
    private static let wide: HTML = #" class="wide""#

    /// The policy that allows pictures and style of the page itself, and nothing else.
    private static let policy: HTML = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

    private static let style: HTML = """

        :root { color-scheme: light dark; --page: #eff0f3; --card: #fff; --well: #e4e6ea; --line: #e6e7eb;
          --ink: #1c1e22; --gray: #666b75; }
        @media (prefers-color-scheme: dark) {
          :root { --page: #111215; --card: #1e2024; --well: #0a0b0d; --line: #303339; --ink: #ededf0; --gray: #9ba0aa; }
        }
        * { box-sizing: border-box; margin: 0; }
        body { padding: clamp(0.75rem, 2vw, 1.5rem); background: var(--page); color: var(--ink);
          font: 0.9375rem/1.35 system-ui, -apple-system, "Segoe UI", Roboto, Inter, "Noto Sans", sans-serif; }
        header { margin-bottom: 1rem; overflow-wrap: anywhere; }
        h1 { font-size: 1.25rem; font-weight: 600; }
        header p, figcaption, article p, span, code, i { color: var(--gray); }
        code { font: 0.8125rem/1.35 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
        main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr));
          align-items: start; }
        article { overflow: hidden; border-radius: 0.75rem; background: var(--card); break-inside: avoid;
          box-shadow: 0 1px 3px #0002; }
        figure > svg { display: block; width: 100%; aspect-ratio: 4 / 3; background: var(--well); }
        polygon, path { fill: none; stroke: var(--color); stroke-width: 3px; stroke-linejoin: round;
          stroke-linecap: round; vector-effect: non-scaling-stroke; }
        .halo { stroke: #fff; stroke-width: 6px; }
        path { stroke-width: 11px; }
        figcaption { padding: 0.5rem 0.75rem; font-size: 0.8125rem; overflow-wrap: anywhere; }
        article p { padding: 0.75rem; border-top: 1px solid var(--line); }
        ol { padding: 0; list-style: none; }
        li { display: grid; grid-template-columns: 4rem 1fr auto; gap: 0.625rem; align-items: center;
          padding: 0.625rem 0.75rem; border-top: 1px solid var(--line); break-inside: avoid; }
        li img, i { display: block; width: 100%; height: 4rem; padding: 2px; border: 3px solid var(--color);
          object-fit: contain; font-size: 0.75rem; }
        @media (min-width: 40rem) {
          .wide { grid-column: span 2; }
          .wide ol { display: grid; grid-template-columns: 1fr 1fr; }
        }
        div { min-width: 0; overflow-wrap: anywhere; }
        b, span, code[dir] { display: block; }
        b { font-weight: 600; }
        data { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
        @media print {
          :root { color-scheme: light; --page: #fff; --card: #fff; --ink: #000; --gray: #555; --line: #ccc;
            --well: #eee; }
          body { padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
          article { border: 1px solid var(--line); box-shadow: none; }
        }

        """
}
