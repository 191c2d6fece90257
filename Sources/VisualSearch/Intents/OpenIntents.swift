public import Compute
import Foundation
import Synchronization

/// An intent that shows an entity in the app.
///
/// The intent needs no `perform()`: ``OpenIntents/register(_:onExecution:)`` takes what the app does.
public protocol OpenIntent: PassiveIntent {
    /// The type of the entity.
    associatedtype Value: Sendable

    /// The entity to open.
    var target: Value { get set }
}

extension OpenIntent {
    /// Whether the app comes to the front to perform the intent; true by default.
    public static var openAppWhenRun: Bool { true }
}

/// Performs an app's intents, and opens entities with the open intent of their type.
public final class OpenIntents: Sendable {
    private struct Opening: Sendable {
        let title: LocalizedStringResource
        let intentForID: @Sendable (any Sendable) async throws -> any AppIntent
        let intentForEntity: @Sendable (any AppEntity) throws -> any AppIntent
    }

    private struct Registry {
        /// The open intents by the type of entity.
        var openings: [ObjectIdentifier: Opening] = [:]
        /// The app's actions after an intent was performed, by the type of intent.
        var actions: [ObjectIdentifier: @Sendable (any AppIntent) async throws -> Void] = [:]
    }

    /// Somebody who still gives no value does not want to.
    private static let mostQuestions = 20

    private let registry = Mutex(Registry())
    private let bringToFront: (@Sendable () async -> Void)?
    private let requestValue: (@Sendable (ParameterRequest) async throws -> ParameterRequest.Answer?)?

    /// No open intents yet.
    ///
    /// - Parameters:
    ///   - bringToFront: called before an intent with `openAppWhenRun`, or with the mode `.foreground`, is performed.
    ///   - requestValue: asks for the value of a parameter that is missing or out of its range; nil is no answer. An
    ///     answer that is no value is asked for again. Without it ``perform(_:)`` throws.
    public init(
        bringToFront: (@Sendable () async -> Void)? = nil,
        requestValue: (@Sendable (ParameterRequest) async throws -> ParameterRequest.Answer?)? = nil
    ) {
        self.bringToFront = bringToFront
        self.requestValue = requestValue
    }

    /// Registers the intent that opens its type of entity; replaces one that was registered before.
    ///
    /// - Parameters:
    ///   - intentType: the type of the intent.
    ///   - onExecution: what the app does after `perform()`, such as showing the target; for intents that have no
    ///     `perform()` of their own.
    public func register<Intent: OpenIntent>(
        _ intentType: Intent.Type, onExecution: (@Sendable (Intent) async throws -> Void)? = nil
    ) where Intent.Value: AppEntity {
        @Sendable func intent(for target: Intent.Value) -> Intent {
            var intent = Intent()
            intent.target = target
            return intent
        }
        let name = "\(Intent.Value.self)"
        let opening = Opening(
            title: Intent.title,
            intentForID: { id in
                guard let id = id as? Intent.Value.ID else {
                    throw OpenIntentError(subject: name, reason: .otherIdentifierType("\(type(of: id))"))
                }
                guard let target = try await Intent.Value.defaultQuery.entities(for: [id]).first else {
                    throw OpenIntentError(subject: name, reason: .gone("\(id)"))
                }
                return intent(for: target)
            },
            intentForEntity: { entity in
                guard let entity = entity as? Intent.Value else {
                    throw OpenIntentError(subject: "\(type(of: entity))", reason: .noIntent)
                }
                return intent(for: entity)
            })
        registry.withLock { registry in
            registry.openings[ObjectIdentifier(Intent.Value.self)] = opening
            registry.actions[ObjectIdentifier(intentType)] = { intent in
                if let intent = intent as? Intent { try await onExecution?(intent) }
            }
        }
    }

    /// The title of the intent that opens this type of entity; nil if there is none.
    public func title(for type: any AppEntity.Type) -> LocalizedStringResource? {
        registry.withLock { $0.openings[ObjectIdentifier(type)]?.title }
    }

    /// The sentence of the intent that opens an entity, with the entity in it; its title if it has none. Nil if no
    /// intent opens its type.
    public func sentence(opening entity: any AppEntity, for languages: [String] = Locale.preferredLanguages) -> String?
    {
        guard let intent = try? opening(of: type(of: entity)).intentForEntity(entity) else { return nil }
        return intent.sentence(for: languages)
    }

    /// Looks an entity up by its id and performs the intent that opens its type.
    ///
    /// - Returns: what the intent tells the person; nil for nothing.
    /// - Throws: ``OpenIntentError`` if the entity no longer exists or no intent opens its type, and what the entity's
    ///   query or the intent throws.
    @discardableResult
    public func open<Entity: AppEntity>(_ type: Entity.Type, id: Entity.ID) async throws -> IntentDialog? {
        try await dialog(of: opening(of: type).intentForID(id))
    }

    /// Performs the intent that opens this entity's type. The entity is not looked up again.
    ///
    /// - Returns: what the intent tells the person; nil for nothing.
    /// - Throws: ``OpenIntentError`` if no intent opens its type, and what the intent throws.
    @discardableResult
    public func open(_ entity: any AppEntity) async throws -> IntentDialog? {
        try await dialog(of: opening(of: type(of: entity)).intentForEntity(entity))
    }

    private func dialog(of intent: some AppIntent) async throws -> IntentDialog? { try await perform(intent).dialog }

    /// Performs an intent, and then the intents that its result opens.
    ///
    /// - Returns: the intent's own result.
    /// - Throws: ``IntentParameterError`` for a parameter without a value or out of its range, and what the intents
    ///   throw.
    @discardableResult
    public func perform<Intent: AppIntent>(_ intent: Intent) async throws -> Intent.PerformResult {
        let result = try await performOne(intent)
        var next = result.nextIntent
        while let intent = next { next = try await performOne(intent).nextIntent }
        return result
    }

    private func performOne<Intent: AppIntent>(_ intent: Intent) async throws -> Intent.PerformResult {
        try Task.checkCancellation()
        var questions = 0
        while let (problem, parameter) = intent.parameterProblem {
            questions += 1
            guard questions <= Self.mostQuestions else { throw problem }
            let request = ParameterRequest(
                intent: Intent.title, parameter: parameter.name, problem: problem,
                choices: try await parameter.choices())
            switch try await requestValue?(request) {
            case nil: throw problem
            case .choice(let index): _ = try await parameter.choose(index)
            case .text(let text): _ = try await parameter.take(text)
            }
            try Task.checkCancellation()
        }
        if Intent.supportedModes.contains(.foreground) { await bringToFront?() }
        let result = try await intent.perform()
        let action = registry.withLock { $0.actions[ObjectIdentifier(Intent.self)] }
        try await action?(intent)
        return result
    }

    private func opening(of type: any AppEntity.Type) throws(OpenIntentError) -> Opening {
        guard let opening = registry.withLock({ $0.openings[ObjectIdentifier(type)] }) else {
            throw OpenIntentError(subject: "\(type)", reason: .noIntent)
        }
        return opening
    }
}

extension OpenIntents {
    /// A value that an intent needs before it is performed, to ask a person for.
    public struct ParameterRequest: Sendable {
        /// The name of the intent.
        public let intent: LocalizedStringResource
        /// The name of the parameter.
        public let parameter: String
        /// Why the value is asked for: it is missing, or out of range.
        public let problem: IntentParameterError
        /// The values to choose from, as they are displayed: suggested entities, or the cases of an enumeration.
        public let choices: [DisplayRepresentation]

        /// The question; one of the parameter's name if it has none.
        public var question: LocalizedStringResource {
            if case .missing(let question?) = problem.reason { return question.full }
            return "\(parameter)?"
        }

        /// What a person answers.
        public enum Answer: Sendable, Hashable {
            /// One of the choices, from 0.
            case choice(Int)
            /// A typed text: the title of a choice, a number, or what the entity's query finds.
            case text(String)
        }
    }
}

/// Why an entity cannot be opened.
public struct OpenIntentError: DescribedError, Equatable {
    /// What is wrong.
    public enum Reason: Equatable, Sendable {
        /// The query no longer finds this id.
        case gone(String)
        /// No intent was registered for the type.
        case noIntent
        /// The id is of this type, which is not the type of the entity's ids.
        case otherIdentifierType(String)
    }

    /// The type of the entity.
    public let subject: String
    /// What is wrong.
    public let reason: Reason

    public var description: String {
        switch reason {
        case .gone(let id): "\(subject) “\(id)” no longer exists; search again"
        case .noIntent: "nothing opens \(subject); register an open intent for it"
        case .otherIdentifierType(let type): "\(subject) has no ids of type \(type)"
        }
    }
}
