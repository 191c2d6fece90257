import Synchronization

/// The open intents of an app, by the type of entity that they open.
public final class OpenIntents: Sendable {
    private typealias Open = @Sendable (any Sendable) async throws -> Void

    private struct Entry: Sendable {
        /// Takes an id.
        let byID: Open
        /// Takes an entity.
        let byEntity: Open
        let title: LocalizedStringResource
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// No intents yet.
    public init() {}

    /// Registers the intent that opens its type of entity; replaces one that was registered before.
    ///
    /// - Parameters:
    ///   - intentType: the type of the intent.
    ///   - onExecution: what the app does after `perform()`, such as showing the target; for intents that have no
    ///     `perform()` of their own.
    public func register<Intent: OpenIntent>(
        _ intentType: Intent.Type, onExecution: (@Sendable (Intent) async throws -> Void)? = nil
    ) where Intent.Value: AppEntity {
        let entry = Entry(
            byID: { id in
                guard let id = id as? Intent.Value.ID else {
                    throw OpenIntentError(
                        entityType: "\(Intent.Value.self)", reason: .otherIdentifierType("\(type(of: id))"))
                }
                guard let target = try await Intent.Value.defaultQuery.entities(for: [id]).first else {
                    throw OpenIntentError(entityType: "\(Intent.Value.self)", reason: .gone("\(id)"))
                }
                try await Self.perform(target, onExecution)
            },
            byEntity: { entity in
                guard let entity = entity as? Intent.Value else {
                    throw OpenIntentError(entityType: "\(type(of: entity))", reason: .noIntent)
                }
                try await Self.perform(entity, onExecution)
            },
            title: Intent.title)
        entries.withLock { $0[ObjectIdentifier(Intent.Value.self)] = entry }
    }

    private static func perform<Intent: OpenIntent>(
        _ target: Intent.Value, _ onExecution: (@Sendable (Intent) async throws -> Void)?
    ) async throws {
        try Task.checkCancellation()
        var intent = Intent()
        intent.target = target
        _ = try await intent.perform()
        try await onExecution?(intent)
    }

    /// The title of the intent that opens this type of entity; nil if there is none.
    public func title(for type: any AppEntity.Type) -> LocalizedStringResource? {
        entries.withLock { $0[ObjectIdentifier(type)]?.title }
    }

    /// Looks an entity up by its id and runs the intent that opens its type.
    ///
    /// - Throws: ``OpenIntentError`` if the entity no longer exists or no intent opens its type, and what the entity's
    ///   query or the intent throws.
    public func open<Entity: AppEntity>(_ type: Entity.Type, id: Entity.ID) async throws {
        try await entry(for: type).byID(id)
    }

    /// Runs the intent that opens this entity's type. The entity is not looked up again.
    ///
    /// - Throws: ``OpenIntentError`` if no intent opens its type, and what the intent throws.
    public func open(_ entity: any AppEntity) async throws {
        try await entry(for: type(of: entity)).byEntity(entity)
    }

    private func entry(for type: any AppEntity.Type) throws(OpenIntentError) -> Entry {
        guard let entry = entries.withLock({ $0[ObjectIdentifier(type)] }) else {
            throw OpenIntentError(entityType: "\(type)", reason: .noIntent)
        }
        return entry
    }
}

/// Why an entity cannot be opened.
public struct OpenIntentError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    public enum Reason: Equatable, Sendable {
        /// Its query no longer finds the id.
        case gone(String)
        /// No intent was registered for its type.
        case noIntent
        /// The id has another type than those of the entity; the type of the given one.
        case otherIdentifierType(String)
    }

    /// The type of the entity.
    public let entityType: String
    /// What is wrong.
    public let reason: Reason

    public var description: String {
        switch reason {
        case .gone(let id): "\(entityType) “\(id)” no longer exists; search again"
        case .noIntent: "nothing opens \(entityType); register an open intent for it"
        case .otherIdentifierType(let type): "\(entityType) has no ids of type \(type)"
        }
    }
}
