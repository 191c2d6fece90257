import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing
import VisualSearch
import VisualSearchHost

private struct Print: AppEntity {
    var id: Int
    var name: String
    var picture: Data?

    var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(
            title: LocalizedStringResource(name, translations: ["de": "Druck \(id)"]), subtitle: "No. \(id)",
            image: picture.map { .init(data: $0) } ?? .init(systemName: "photo"))
    }
    static let defaultQuery = PrintQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation {
        TypeDisplayRepresentation(name: "Print", numericFormat: "\(placeholder: .int) prints")
    }
}

private struct PrintQuery: EntityQuery {
    func entities(for identifiers: [Int]) async throws -> [Print] {
        identifiers.map { Print(id: $0, name: "Print \($0)") }
    }
    func suggestedEntities() async throws -> [Print] { try await entities(for: [1, 2]) }
}

private struct Handler: IntentValueQuery {
    var found: [Print]
    func values(for input: SemanticContentDescriptor) async throws -> [Print] { input.pixelBuffer == nil ? [] : found }
}

private struct NumberHandler: IntentValueQuery {
    func values(for input: SemanticContentDescriptor) async throws -> [Int] { [1] }
}

private final class Lines: Sendable {
    private let lines: Mutex<(typed: [String], shown: [String])>

    init(_ typed: String...) { lines = Mutex((typed, [])) }

    var console: HostConsole {
        HostConsole(
            read: { self.lines.withLock { $0.typed.isEmpty ? nil : $0.typed.removeFirst() } },
            write: { line in self.lines.withLock { $0.shown.append(line) } })
    }
    var shown: [String] { lines.withLock { $0.shown } }
}

private struct OpenPrint: OpenIntent {
    static let title: LocalizedStringResource = "Open Print"
    static var parameterSummary: some ParameterSummary { Summary("Look at \(\.$target)") }
    @Parameter(title: "Print", requestValueDialog: "Which one?") var target: Print

    func perform() async throws -> some IntentResult & ProvidesDialog { .result(dialog: "This is \(target.name).") }
}

private struct Search: SemanticContentSearchIntent {
    static let title: LocalizedStringResource = "Search Prints"
    @Parameter var semanticContent: SemanticContentDescriptor

    func perform() async throws -> some IntentResult & ProvidesDialog {
        .result(dialog: "\(semanticContent.labels.count) labels")
    }
}

private enum Paper: String, AppEnum {
    case smooth, rough
    static let typeDisplayRepresentation: TypeDisplayRepresentation = "Paper"
    static let caseDisplayRepresentations: [Paper: DisplayRepresentation] = [.smooth: "Smooth", .rough: "Rough paper"]
}

private struct Order: AppIntent {
    static let title: LocalizedStringResource = "Order"
    static var parameterSummary: some ParameterSummary { Summary("Order \(\.$count) × \(\.$print) on \(\.$paper)") }
    @Parameter(title: "Print", requestValueDialog: "Which print?") var print: Print
    @Parameter(title: "Paper") var paper: Paper
    @Parameter(title: "Count", inclusiveRange: (1, 9)) var count: Int
    @Parameter(title: "Framed") var isFramed: Bool
    @Parameter(title: "Note") var note: String?

    func perform() async throws -> some IntentResult & ReturnsValue<String> {
        .result(value: "\(print.id) \(paper) \(count) \(isFramed) \(note ?? "-")")
    }
}

struct HostTests {
    private let content = SemanticContentDescriptor(labels: ["art"], pixelBuffer: SampleImage.blocks(seed: 1))

    private func host(_ found: [Print], _ lines: Lines = Lines(), languages: [String] = ["en"]) -> VisualSearchHost {
        VisualSearchHost(
            name: "Prints", query: Handler(found: found), moreResults: Search.self, console: lines.console,
            languages: languages
        ) { $0.register(OpenPrint.self) }
    }

    private func prints(_ count: Int) -> [Print] { (0..<count).map { Print(id: $0, name: "Print \($0)") } }

    @Test func theTerminalHasTwoColumnsAndOneForASingleResult() async throws {
        let text = try await host(prints(5)).sheet(for: content, limit: 3).text(width: 40)
        #expect(
            text == """
                Prints: 5 prints
                  1  Print 0          2  Print 1
                     No. 0 · Print       No. 1 · Print
                  3  Print 2
                     No. 2 · Print
                  m  More results: Search Prints
                """)
        let single = try await host([Print(id: 1, name: "A \u{1B}[31m" + String(repeating: "long ", count: 20))])
            .sheet(for: content).text(width: 40)
        let lines = single.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.count <= 40 } && !single.contains("\u{1B}"))
        #expect(try await host([]).sheet(for: content).text() == "Prints: nothing found")
        #expect(
            try await host(prints(2), languages: ["de"]).sheet(for: content).items.map(\.title) == [
                "Druck 0", "Druck 1",
            ])
    }

    @Test func thePageIsOneFileAndEscapesNames() async throws {
        let picture = try SampleImage.blocks(seed: 3).pngData()
        let large = try SampleImage.shapes(seed: 4, width: 1_500, height: 1_200, count: 9).pngData()
        let found = [
            Print(id: 1, name: "<script>alert('x')</script> & \"co\"", picture: picture),
            Print(id: 2, name: "Large", picture: large), Print(id: 3, name: "Damaged", picture: Data("no image".utf8)),
            Print(id: 4, name: "Without"),
        ]
        let page = try await host(found).sheet(for: content, limit: 3).page()
        #expect(!page.contains("<script") && page.contains("&lt;script&gt;alert(&#39;x&#39;)"))
        #expect(page.contains("data:image/png;base64,\(picture.base64EncodedString())"))
        // Nothing is loaded from elsewhere, and no place is missing.
        #expect(!page.contains("http") && !page.contains("url("))
        for match in page.matches(of: /href="#([^"]+)"/) { #expect(page.contains("id=\"\(match.1)\"")) }
        #expect(page.contains("prefers-color-scheme: dark") && page.contains("href=\"#more\""))
        #expect(page.contains("Look at Large") && page.utf8.count < 600_000)
        #expect(!page.contains("results single"))
        let single = try await host([found[0]]).sheet(for: content).page()
        #expect(single.contains("results single"))
        #expect(try await host([]).sheet(for: content).page().contains("Nothing found"))
    }

    @Test func resultsAreOpenedByTheirNumbers() async throws {
        let lines = Lines("2", "9", "m", "x", "q", "1")
        try await host(prints(3), lines).run(on: content)
        #expect(
            lines.shown.dropFirst() == [
                "→ Look at Print 1", "Prints comes to the front.", "“This is Print 1.”",
                "“9” is no result: 1 to 3, m for more, q", "→ Search Prints", "“1 labels”",
                "“x” is no result: 1 to 3, m for more, q",
            ])
        let closed = VisualSearchHost(name: "Closed", query: Handler(found: prints(1)), console: lines.console) { _ in }
        let sheet = try await closed.sheet(for: content)
        #expect(sheet.items[0].opening == nil && !sheet.page().contains("More results"))
        await #expect(throws: OpenIntentError.self) { try await closed.open(sheet.items[0]) }
        await #expect(throws: VisualSearchHostError.self) { try await closed.showMore(of: content) }
        let numbers = VisualSearchHost(name: "Numbers", query: NumberHandler(), console: lines.console) { _ in }
        let error = await #expect(throws: VisualSearchHostError.self) { _ = try await numbers.sheet(for: content) }
        #expect(error?.subject == "NumberHandler" && error?.reason == .noEntity("Int"))
    }

    @Test func missingValuesAreAskedForAndFillTheSentence() async throws {
        let lines = Lines("2", "rough PAPER", "12", "3", "yes")
        let host = host([], lines)
        let order = Order()
        #expect(order.sentence(for: ["en"]) == "Order Count × Print on Paper")
        let result = try await host.perform(order)
        #expect(result.value == "2 rough 3 true -")
        #expect(lines.shown.contains("Order: Which print?") && lines.shown.contains("  2  Rough paper"))
        #expect(lines.shown.contains { $0.contains("12") && $0.contains("out of range") })
        #expect(lines.shown.last == "→ Order 3 × Print 2 on Rough paper")
        // A copy that was asked keeps its answers; another intent has none.
        #expect(order.sentence(for: ["en"]) == "Order 3 × Print 2 on Rough paper")
        await #expect(throws: IntentParameterError.self) { try await host.perform(Order()) }
        var changed = order
        changed.count = 4
        #expect(changed.sentence(for: ["en"]).hasPrefix("Order 4 ×"))
        // Nobody is asked without end.
        let deaf = OpenIntents(requestValue: { _ in .text("nothing of the kind") })
        await #expect(throws: IntentParameterError.self) { try await deaf.perform(Order()) }
        let unknown = OpenIntents(requestValue: { _ in .choice(7) })
        await #expect(throws: IntentParameterError.self) { try await unknown.perform(OpenPrint()) }
    }
}
