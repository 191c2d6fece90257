import Foundation
import Imaging
import TestSupport
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The page that `search --sheet` writes.
@Suite(.serialized) struct ContactSheetTests {
    private static let titles = [
        "<script>alert(1)</script>", #""&' onload="x" </b></article>"#, "مقام النهاوند\u{202E}", "bell\u{7} and é",
    ]

    private let folder: TemporaryFolder
    private var catalog: String { folder.file("catalog").path }

    private static func cover(_ index: Int) -> PixelBuffer {
        SampleImage.shapes(seed: UInt64(70 + index), width: 300, height: 260)
    }

    init() throws {
        folder = try TemporaryFolder()
        struct Line: Encodable {
            let id: String
            let image: String
            let title: String
            let subtitle: String
        }
        let lines = try Self.titles.enumerated().map { index, title in
            try folder.write(Self.cover(index).pngData(), to: "i\(index).png")
            let line = Line(id: "<i\(index)>", image: "i\(index).png", title: title, subtitle: "by & by")
            return String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
        }
        try folder.write(lines.joined(separator: "\n"), to: "m.jsonl")
    }

    private func index(_ more: String...) throws {
        let result = try Command.run(["index", folder.file("m.jsonl").path, "--catalog", catalog] + more)
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The elements of the page of a search.
    private func sheet(of arguments: String...) throws -> Page {
        let file = folder.file("sheet.html").path
        let result = try Command.run(["search", "--catalog", catalog, "--sheet", file] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        return try Page(URL(fileURLWithPath: file))
    }

    @Test func hasACardPerQueryWithOutlinesAndMatches() throws {
        try index()
        let placement = Placement(of: Self.cover(2), scale: 0.9, degrees: 30, center: SIMD2(330, 240))
        let photo = SampleImage.shapes(seed: 901, width: 640, height: 480, count: 60)
            .drawing(Self.cover(2), at: placement)
        let query = try folder.write(photo.pngData(), to: "photo \"&'<b>.png").path
        let other = try folder.write(SampleImage.shapes(seed: 902).pngData(), to: "other.png").path
        let page = try sheet(of: query, other)
        #expect(page.all("article").count == 2 && page.all("li").count == 1)
        #expect(page.all("h1").map(\.text) == ["1 of 2 queries matched"])
        #expect(page.all("figcaption").map(\.text) == ["photo \"&'<b>.png", "other.png"])
        #expect(page.all("b").map(\.text) == [Self.titles[2]] && page.all("code").map(\.text) == ["<i2>"])
        #expect(page.all("span").map(\.text) == ["by & by"])
        #expect(page.all("b").allSatisfy { $0.attributes["dir"] == "auto" })
        #expect(page.all("p").map(\.text) == ["No match"])
        #expect(page.all("data").first?.text.hasSuffix("\u{202F}%") == true)

        // In the query's pixels; the dot is at the picture's own top left.
        let polygon = try #require(page.all("polygon").last?.attributes["points"]).split(separator: " ")
        let corners = placement.corners(width: 640, height: 480).map { $0 * SIMD2(640, 480) }
        #expect(polygon.count == 4)
        for (point, corner) in zip(polygon, corners) {
            let parts = point.split(separator: ",").compactMap { Double($0) }
            #expect(parts.count == 2 && hypot(parts[0] - corner.x, parts[1] - corner.y) < 12, "\(polygon)")
        }
        #expect(page.all("path").map { $0.attributes["d"] } == ["M\(polygon[0])h0"])
        #expect(page.all("svg").first?.attributes["viewBox"] == "0 0 640 480")
    }

    @Test func hostileTextStaysText() throws {
        try index()
        let page = try sheet(of: "--min-confidence", "0", folder.file("i0.png").path)
        #expect(Set(page.all("b").map(\.text)) == Set(Self.titles.map { $0.replacing("\u{7}", with: "\u{FFFD}") }))
        #expect(Set(page.all("code").map(\.text)) == ["<i0>", "<i1>", "<i2>", "<i3>"])
        #expect(page.all("script").isEmpty && page.all("article").count == 1)
        let names = page.elements.flatMap { $0.attributes.keys }
        #expect(!names.contains { $0.hasPrefix("on") })
    }

    @Test func loadsNothing() throws {
        try index()
        let page = try sheet(of: "--min-confidence", "0", folder.file("i0.png").path)
        let addresses = page.elements.flatMap { element in ["src", "href"].compactMap { element.attributes[$0] } }
        #expect(addresses.count == 5)
        let start = "data:image/jpeg;base64,"
        for address in addresses {
            #expect(address.hasPrefix(start))
            let data = try #require(Data(base64Encoded: String(address.dropFirst(start.count))))
            #expect(try PixelBuffer(decoding: data, named: "picture").width > 100)
        }
        let style = try #require(page.all("style").first?.text)
        #expect(!style.contains("url(") && !style.contains("@import") && style.contains("prefers-color-scheme: dark"))
        #expect(page.all("meta").contains { $0.attributes["content"]?.hasPrefix("default-src 'none'") == true })
    }

    @Test func aConditionIsShownAndAMissingImageIsNoted() throws {
        try index("--thumbnails", "0")
        let query = try Data(contentsOf: folder.file("i1.png"))
        try FileManager.default.removeItem(at: folder.file("i1.png"))
        let page = try sheet(
            of: "--where", #"subtitle = "by & by""#, try folder.write(query, to: "query.png").path)
        #expect(page.all("i").map(\.text) == ["image missing"])
        #expect(page.all("code").map(\.text) == [#"subtitle = "by & by""#, "<i1>"])
    }

    @Test(arguments: ["sheet.png", "sheet.JPEG"]) func theNameOfAPictureIsRefused(name: String) throws {
        let result = try Command.run("search", "--catalog", catalog, "--sheet", folder.file(name).path, "x.png")
        #expect(
            result.status == 64 && result.errors.contains("HTML") && result.errors.contains("sheet.html"), "\(result)")
        #expect(!FileManager.default.fileExists(atPath: folder.file(name).path))
    }
}

/// The elements of a page, in the order of their starts.
final class Page: NSObject, XMLParserDelegate {
    struct Element {
        let name: String
        let attributes: [String: String]
        var text = ""
    }

    private(set) var elements: [Element] = []
    private var open: [Int] = []

    init(_ file: URL) throws {
        super.init()
        let data = try Data(contentsOf: file)
        #expect(data.starts(with: Data("<!DOCTYPE html>\n".utf8)))
        let parser = XMLParser(data: data)
        parser.delegate = self
        #expect(parser.parse(), "\(String(describing: parser.parserError)) in line \(parser.lineNumber)")
    }

    func all(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        open.append(elements.count)
        elements.append(Element(name: name, attributes: attributes))
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if let last = open.last { elements[last].text += text }
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        open.removeLast()
    }
}
