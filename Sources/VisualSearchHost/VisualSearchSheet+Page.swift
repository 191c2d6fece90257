import Imaging
import VisualSearch

extension VisualSearchSheet {
    /// The sheet as a web page in one file, in light and dark colors: the captured picture, the results in two columns,
    /// a page per result that says what opens it, and a list of all results.
    ///
    /// - Complexity: O(bytes of the pictures); large ones are made smaller.
    public func page() -> String {
        let language = languages.first.map { " lang=\"\($0.escapedForHTML)\"" } ?? ""
        let captured =
            content.pixelBuffer.flatMap { Thumbnail.url(of: $0, longSide: 1_280) }
            .map { "<img class=\"captured\" src=\"\($0)\" alt=\"The captured picture\">" }
            ?? "<p class=\"captured labels\">\(content.labels.joined(separator: ", ").escapedForHTML)</p>"
        return """
            <!DOCTYPE html>
            <html\(language)>
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(name.escapedForHTML): visual search</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            \(captured)
            <section class="sheet" aria-label="Results">
            <header><h1>\(name.escapedForHTML)</h1><p>\(summary.escapedForHTML)</p></header>
            <ul class="results\(items.count == 1 ? " single" : "")">
            \(shown.enumerated().map { card($1, $0) }.joined(separator: "\n"))
            </ul>
            \(moreLink)
            </section>
            </main>
            \(items.enumerated().map { detail($1, $0) }.joined(separator: "\n"))
            \(allResults)
            </body>
            </html>

            """
    }

    private var summary: String { items.isEmpty ? "Nothing found" : counts }

    private func card(_ item: Item, _ index: Int) -> String {
        """
        <li><a href="#result-\(index + 1)">\(picture(of: item))<span class="text">\
        <strong>\(item.title.escapedForHTML)</strong>\(line(item.subtitle))</span></a></li>
        """
    }

    private func line(_ text: String?) -> String { text.map { "<span>\($0.escapedForHTML)</span>" } ?? "" }

    /// The picture of a result; without one in memory, a tile with the first letter of its type.
    private func picture(of item: Item) -> String {
        if let url = item.picture.flatMap({ Thumbnail.url(of: $0, longSide: 640) }) {
            return "<img src=\"\(url)\" alt=\"\">"
        }
        return "<span class=\"tile\" aria-hidden=\"true\">\(String(item.kind.prefix(1)).escapedForHTML)</span>"
    }

    private var moreLink: String {
        guard !items.isEmpty, moreTitle != nil || items.count > limit else { return "" }
        return "<a class=\"more\" href=\"#more\">More results</a>"
    }

    /// The page of a result.
    private func detail(_ item: Item, _ index: Int) -> String {
        let opening = item.opening ?? "Nothing opens this: the app has no open intent for \(item.kind)."
        return """
            <section class="overlay" id="result-\(index + 1)" aria-label="\(item.title.escapedForHTML)">
            <div class="panel"><a class="back" href="#">Back</a>
            \(picture(of: item))
            <p class="kind">\(item.kind.escapedForHTML)</p>
            <h2>\(item.title.escapedForHTML)</h2>\(item.subtitle.map { "\n<p>\($0.escapedForHTML)</p>" } ?? "")
            <p class="action\(item.opening == nil ? " none" : "")">\(opening.escapedForHTML)</p>
            </div></section>
            """
    }

    private var allResults: String {
        guard !moreLink.isEmpty else { return "" }
        let rows = items.enumerated().map { index, item in
            """
            <li><a href="#result-\(index + 1)">\(picture(of: item))<span class="text">\
            <strong>\(item.title.escapedForHTML)</strong>\(line(item.subtitle))</span>\
            <span class="kind">\(item.kind.escapedForHTML)</span></a></li>
            """
        }
        return """
            <section class="overlay" id="more" aria-label="More results">
            <div class="panel"><a class="back" href="#">Back</a>
            <p class="kind">\(name.escapedForHTML)</p>
            <h2>\((moreTitle ?? "More results").escapedForHTML)</h2>
            <ul class="rows">
            \(rows.joined(separator: "\n"))
            </ul>
            </div></section>
            """
    }

    private static let style = """

        :root { --back: #e9eaee; --sheet: #ffffff; --card: #f2f3f6; --text: #17181c; --faint: #5b5f6b;
          --accent: #0a58ca; --on-accent: #ffffff; --tile: #dde4f0; --shade: rgba(20, 22, 30, .45); }
        @media (prefers-color-scheme: dark) { :root { --back: #0e0f12; --sheet: #1b1d22; --card: #282b32;
          --text: #f1f2f5; --faint: #a9adb9; --accent: #7fb2ff; --on-accent: #0d1a30; --tile: #363c49;
          --shade: rgba(0, 0, 0, .65); } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.4 system-ui, sans-serif; }
        main { max-width: 1200px; min-height: 100vh; margin: 0 auto; display: flex; flex-direction: column; }
        .captured { display: block; width: 100%; max-height: 46vh; object-fit: contain; background: #000; }
        .labels { padding: 3rem 1rem; margin: 0; color: #fff; text-align: center; }
        .sheet { background: var(--sheet); border-radius: 20px 20px 0 0; margin-top: -16px; padding: 18px 16px 24px;
          position: relative; flex: 1; }
        header { display: flex; justify-content: space-between; align-items: baseline; gap: 12px; flex-wrap: wrap; }
        h1, h2, p { margin: 0; }
        h1 { font-size: 1.2rem; }
        h2 { font-size: 1.4rem; line-height: 1.2; overflow-wrap: anywhere; }
        header p, .kind { color: var(--faint); font-size: .9rem; }
        ul { list-style: none; margin: 14px 0 0; padding: 0; }
        .results { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; }
        .results.single { grid-template-columns: minmax(0, 1fr); }
        a { color: inherit; text-decoration: none; }
        a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .results a { display: flex; flex-direction: column; height: 100%; background: var(--card); border-radius: 14px;
          overflow: hidden; }
        .results img, .results .tile { width: 100%; aspect-ratio: 1; object-fit: cover; }
        .results.single img { aspect-ratio: auto; max-height: 60vh; object-fit: contain; background: var(--back); }
        .results.single .tile { aspect-ratio: 2; }
        .tile { display: grid; place-items: center; font-size: 2.6rem; font-weight: 600; color: var(--accent);
          background: var(--tile); }
        .text { display: flex; flex-direction: column; min-width: 0; padding: 10px 12px 12px; overflow-wrap: anywhere; }
        .text span { color: var(--faint); font-size: .9rem; }
        .more, .action { display: block; margin-top: 16px; padding: 13px; border-radius: 12px; text-align: center;
          font-weight: 600; background: var(--accent); color: var(--on-accent); }
        .action.none { background: var(--card); color: var(--faint); }
        .overlay { display: none; position: fixed; inset: 0; overflow: auto; background: var(--shade); padding: 16px; }
        .overlay:target { display: block; }
        .panel { max-width: 520px; margin: 4vh auto; padding: 18px; background: var(--sheet); border-radius: 18px; }
        .panel > img, .panel > .tile { display: block; width: 100%; max-height: 50vh; object-fit: contain;
          margin: 12px 0; border-radius: 12px; }
        .panel > .tile { display: grid; height: 180px; }
        .panel > .kind { margin-top: 12px; }
        .back { color: var(--accent); font-weight: 600; }
        .back::before { content: "‹ "; }
        .rows li + li { border-top: 1px solid var(--card); }
        .rows a { display: flex; align-items: center; gap: 12px; padding: 8px 0; }
        .rows img, .rows .tile { width: 56px; height: 56px; flex: none; object-fit: cover; border-radius: 8px;
          font-size: 1.3rem; }
        .rows .text { flex: 1; padding: 0; }
        @media (min-width: 900px) {
          main { flex-direction: row; align-items: flex-start; min-height: 0; gap: 28px; padding: 28px; }
          .captured { flex: 0 1 auto; width: auto; min-width: 0; max-height: calc(100vh - 56px); margin: 0 auto;
            border-radius: 20px; position: sticky; top: 28px; }
          .sheet { flex: 0 0 420px; margin: 0; border-radius: 20px; }
        }

        """
}

/// Pictures in pages.
private enum Thumbnail {
    /// Smaller files are kept as they are, if browsers show their format.
    private static let smallFile = 60_000
    private static let signatures: [(bytes: [UInt8], type: String)] = [
        ([0xFF, 0xD8, 0xFF], "jpeg"), ([0x89, 0x50, 0x4E, 0x47], "png"), ([0x47, 0x49, 0x46, 0x38], "gif"),
    ]

    /// The `data:` URL of an image file; nil if it cannot be read.
    static func url(of file: Data, longSide: Int) -> String? {
        let options = DecodingOptions(neededSize: (longSide, longSide))
        guard let image = try? PixelBuffer(decoding: file, named: "picture", options: options) else { return nil }
        let format = signatures.first { file.starts(with: $0.bytes) }
        if let format, file.count <= smallFile {
            return "data:image/\(format.type);base64,\(file.base64EncodedString())"
        }
        return url(of: image, longSide: longSide)
    }

    /// The `data:` URL of pixels, at most about this long; nil if they cannot be encoded.
    static func url(of image: PixelBuffer, longSide: Int) -> String? {
        let factor = (max(image.width, image.height) + longSide - 1) / longSide
        let smaller = factor > 1 ? BoxReducer(factor: min(factor, 16)).reduce(image) : image
        guard let file = try? smaller.jpegData(quality: 80) else { return nil }
        return "data:image/jpeg;base64,\(file.base64EncodedString())"
    }
}

extension String {
    /// The text in HTML, also in an attribute.
    var escapedForHTML: String {
        var text = ""
        for character in unicodeScalars {
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case _ where character.properties.generalCategory == .control: text += "\u{FFFD}"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
