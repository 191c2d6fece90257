public import Compute
public import VisualSearch

/// Plays the system for an app's visual search: it runs the app's query on a picture, shows the results, opens them,
/// shows more of them, and asks for what an intent needs.
///
/// ```swift
/// let host = VisualSearchHost(name: "Music", query: SearchHandler(), moreResults: SearchIntent.self) { intents in
///     intents.register(OpenAlbumIntent.self)
/// }
/// let content = SemanticContentDescriptor(pixelBuffer: screenshot)
/// try await host.sheet(for: content).page().write(to: url, atomically: true, encoding: .utf8)
/// try await host.run(on: content)  // the same in the terminal
/// ```
///
/// The app registers its dependencies before, as it does when it starts.
public final class VisualSearchHost: Sendable {
    /// The name of the app.
    public let name: String
    /// The app's intents. What they ask goes to the console.
    public let intents: OpenIntents
    private let console: HostConsole
    private let languages: [String]
    private let entities: @Sendable (SemanticContentDescriptor) async throws -> [any AppEntity]
    private let more: More?

    /// The intent behind “More results”.
    private struct More: Sendable {
        let title: LocalizedStringResource
        let perform: @Sendable (OpenIntents, SemanticContentDescriptor) async throws -> IntentDialog?
    }

    /// A host of an app whose results continue in the app.
    ///
    /// - Parameters:
    ///   - name: the name of the app.
    ///   - query: the app's visual search. Its values are entities, or enumerations of them (`@UnionValue`).
    ///   - moreResults: the intent behind “More results”.
    ///   - console: where questions and answers go.
    ///   - languages: the languages of the person, the most preferred first.
    ///   - register: registers the intents that open the app's entities.
    public convenience init<Query: IntentValueQuery, MoreResults: SemanticContentSearchIntent>(
        name: String, query: Query, moreResults: MoreResults.Type, console: HostConsole = .terminal,
        languages: [String] = Locale.preferredLanguages, register: (OpenIntents) -> Void
    ) where Query.Input == SemanticContentDescriptor {
        self.init(
            name: name, query: query,
            more: More(title: MoreResults.title) { intents, content in
                try await intents.perform(MoreResults(for: content)).dialog
            }, console: console, languages: languages, register: register)
    }

    /// A host of an app that shows all its results at once.
    ///
    /// - Parameters:
    ///   - name: the name of the app.
    ///   - query: the app's visual search. Its values are entities, or enumerations of them (`@UnionValue`).
    ///   - console: where questions and answers go.
    ///   - languages: the languages of the person, the most preferred first.
    ///   - register: registers the intents that open the app's entities.
    public convenience init<Query: IntentValueQuery>(
        name: String, query: Query, console: HostConsole = .terminal, languages: [String] = Locale.preferredLanguages,
        register: (OpenIntents) -> Void
    ) where Query.Input == SemanticContentDescriptor {
        self.init(name: name, query: query, more: nil, console: console, languages: languages, register: register)
    }

    private init<Query: IntentValueQuery>(
        name: String, query: Query, more: More?, console: HostConsole, languages: [String],
        register: (OpenIntents) -> Void
    ) where Query.Input == SemanticContentDescriptor {
        (self.name, self.more, self.console, self.languages) = (name, more, console, languages)
        entities = { content in
            try await query.values(for: content).map { value in
                if let union = value as? any UnionValueProtocol { return union.entity }
                guard let entity = value as? any AppEntity else {
                    throw VisualSearchHostError(subject: "\(Query.self)", reason: .noEntity("\(type(of: value))"))
                }
                return entity
            }
        }
        intents = OpenIntents(
            bringToFront: { console.write("\(name) comes to the front.") },
            requestValue: { request in console.answer(to: request, languages: languages) })
        register(intents)
    }

    // MARK: What a person does

    /// The results for captured content.
    ///
    /// - Parameters:
    ///   - content: what was captured.
    ///   - limit: the number of results that the sheet shows; the others are behind “More results”.
    /// - Throws: what the query throws, and ``VisualSearchHostError`` for a value that is no entity.
    public func sheet(for content: SemanticContentDescriptor, limit: Int = 10) async throws -> VisualSearchSheet {
        let items = try await entities(content).map { entity in
            VisualSearchSheet.Item(
                entity, opening: intents.sentence(opening: entity, for: languages), languages: languages)
        }
        return VisualSearchSheet(
            name: name, content: content, items: items, limit: limit,
            moreTitle: more?.title.localized(for: languages), languages: languages)
    }

    /// Opens a result in the app.
    ///
    /// - Returns: what the intent tells the person; nil for nothing.
    /// - Throws: `OpenIntentError` if no intent opens its type, and what the intent throws.
    @discardableResult
    public func open(_ item: VisualSearchSheet.Item) async throws -> String? {
        console.write("→ \(item.opening ?? item.title)")
        return told(try await intents.open(item.entity))
    }

    /// Continues in the app's own search.
    ///
    /// - Returns: what the intent tells the person; nil for nothing.
    /// - Throws: ``VisualSearchHostError`` if the app has no such intent, and what the intent throws.
    @discardableResult
    public func showMore(of content: SemanticContentDescriptor) async throws -> String? {
        guard let more else { throw VisualSearchHostError(subject: name, reason: .noSearchInApp) }
        console.write("→ \(more.title.localized(for: languages))")
        return told(try await more.perform(intents, content))
    }

    /// Performs an intent of the app. Values that are missing or out of range are asked for.
    ///
    /// - Returns: the result of the intent.
    /// - Throws: `IntentParameterError` for a question without an answer, and what the intent throws.
    @discardableResult
    public func perform<Intent: AppIntent>(_ intent: Intent) async throws -> Intent.PerformResult {
        let result = try await intents.perform(intent)
        // The answers are in it now.
        console.write("→ \(intent.sentence(for: languages))")
        _ = told(result.dialog)
        return result
    }

    private func told(_ dialog: IntentDialog?) -> String? {
        guard let text = dialog?.full.localized(for: languages) else { return nil }
        console.write("“\(text)”")
        return text
    }

    /// Shows the results in the console, and opens those whose numbers are typed: `m` shows more of them, and `q` or
    /// the end of the input ends.
    ///
    /// - Throws: what the query throws. Errors of intents are shown.
    public func run(on content: SemanticContentDescriptor, limit: Int = 10) async throws {
        let sheet = try await sheet(for: content, limit: limit)
        console.write(sheet.text())
        while !sheet.items.isEmpty, let line = console.read(), line != "q" {
            do {
                if line == "m", more != nil {
                    try await showMore(of: content)
                } else if let number = Int(line), sheet.items.indices.contains(number - 1) {
                    try await open(sheet.items[number - 1])
                } else {
                    console.write(
                        "“\(line)” is no result: 1 to \(sheet.items.count)\(more == nil ? "" : ", m for more"), q")
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                console.write("\(error)")
            }
        }
    }
}

/// Where a host writes to and reads answers from.
public struct HostConsole: Sendable {
    /// The next line that a person types, without its end; nil if there is none.
    public let read: @Sendable () -> String?
    /// Shows lines.
    public let write: @Sendable (String) -> Void

    /// A console of two closures.
    public init(read: @escaping @Sendable () -> String?, write: @escaping @Sendable (String) -> Void) {
        (self.read, self.write) = (read, write)
    }

    /// Standard input and output.
    public static let terminal = HostConsole(read: { readLine() }, write: { print($0) })

    /// Asks for a value: an empty line, or none, is no answer.
    func answer(to request: OpenIntents.ParameterRequest, languages: [String]) -> OpenIntents.ParameterRequest.Answer? {
        if case .outOfRange = request.problem.reason { write("\(request.problem)") }
        write("\(request.intent.localized(for: languages)): \(request.question.localized(for: languages))")
        for (index, choice) in request.choices.enumerated() {
            write("  \(index + 1)  \(choice.title.localized(for: languages).withoutControls)")
        }
        guard let line = read(), !line.isEmpty else { return nil }
        if let number = Int(line), request.choices.indices.contains(number - 1) { return .choice(number - 1) }
        return .text(line)
    }
}

/// Why a host cannot do what it was asked for.
public struct VisualSearchHostError: DescribedError, Equatable {
    /// What is wrong.
    public enum Reason: Equatable, Sendable {
        /// The query returned a value of this type, which is no entity.
        case noEntity(String)
        /// The app has no intent behind “More results”.
        case noSearchInApp
    }

    /// The query or the app.
    public let subject: String
    /// What is wrong.
    public let reason: Reason

    public var description: String {
        switch reason {
        case .noEntity(let type):
            "\(subject) returned a value of type \(type), which is no entity; "
                + "return an AppEntity, or an enumeration of them with @UnionValue"
        case .noSearchInApp:
            "\(subject) has no search for more results; pass an intent with the schema semanticContentSearch"
        }
    }
}
