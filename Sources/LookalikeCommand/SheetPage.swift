import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

/// A page of cards with pictures.
///
/// It is one file that loads nothing: it holds its pictures and its style, and has no script. It is HTML, and also
/// well-formed XML.
enum SheetPage {
    /// Refuses a file whose name promises a picture.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ file: FilePath) throws {
        let ending = file.url.pathExtension
        guard ImageFormat.allFileExtensions.contains(ending.lowercased()) else { return }
        let page = file.url.deletingPathExtension().lastPathComponent + ".html"
        throw ValidationError("--sheet writes an HTML page, not .\(ending.escaped): name it \(page.escaped).")
    }

    /// The page, in UTF-8.
    ///
    /// - Parameters:
    ///   - note: what follows the heading.
    ///   - style: rules for these cards, besides those of every page.
    static func data(titled title: String, note: HTML, cards: [HTML], style: HTML) -> Data {
        let page: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8"/>
            <meta name="viewport" content="width=device-width, initial-scale=1"/>
            <meta name="color-scheme" content="light dark"/>
            <meta http-equiv="Content-Security-Policy" content="\(policy)"/>
            <title>\(title)</title>
            <style>\(Self.style)\(style)</style>
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

    /// The class of a card with many entries.
    static let wide: HTML = #" class="wide""#

    /// The stored thumbnail of an entity's image, or the image; a note if it was moved or deleted since it was indexed.
    static func picture(of id: String, image: Int = 0, in catalog: Catalog) async throws -> HTML {
        do {
            if let jpeg = try await catalog.thumbnail(for: id, image: image) {
                return "<img alt=\"\" src=\"\(address(of: jpeg))\"/>"
            }
        } catch is ImageError {}
        return "<i>image missing</i>"
    }

    static func address(of jpeg: Data) -> String { "data:image/jpeg;base64," + jpeg.base64EncodedString() }

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
        @media print {
          :root { color-scheme: light; --page: #fff; --card: #fff; --ink: #000; --gray: #555; --line: #ccc;
            --well: #eee; }
          body { padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
          article { border: 1px solid var(--line); box-shadow: none; }
        }

        """
}
