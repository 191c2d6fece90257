import Synchronization

/// What queries and intents are given by the app: registered once, when it starts.
///
/// ```swift
/// AppDependencyManager.shared.add(dependency: AlbumCatalog(…))
/// ```
public final class AppDependencyManager: Sendable {
    public static let shared = AppDependencyManager()

    private struct Name: Hashable, Sendable {
        let type: ObjectIdentifier
        let key: String?
    }

    private enum Entry: Sendable {
        case maker(@Sendable () -> any Sendable)
        case made(any Sendable)
    }

    private let entries = Mutex<[Name: Entry]>([:])

    public init() {}

    /// Registers what `@Dependency` properties of this type get, in the place of what was registered before.
    ///
    /// - Parameters:
    ///   - key: tells dependencies of one type apart.
    ///   - dependency: evaluated when it is first asked for, and once.
    public func add<Value: Sendable>(key: String? = nil, dependency: @autoclosure @escaping @Sendable () -> Value) {
        entries.withLock { $0[Name(type: ObjectIdentifier(Value.self), key: key)] = .maker(dependency) }
    }

    /// What was registered, nil where nothing was.
    public func dependency<Value: Sendable>(of type: Value.Type = Value.self, key: String? = nil) -> Value? {
        let name = Name(type: ObjectIdentifier(type), key: key)
        switch entries.withLock({ $0[name] }) {
        case .made(let value): return value as? Value
        case nil: return nil
        case .maker(let make):
            // Not under the lock: what is made may itself ask for dependencies. Of two made at once the first stays.
            let value = make()
            return entries.withLock { entries in
                if case .made(let first)? = entries[name] { return first as? Value }
                entries[name] = .made(value)
                return value as? Value
            }
        }
    }
}

/// A value that the app registered with ``AppDependencyManager``, looked up when it is read.
///
/// Reading one that nobody registered is a mistake in the program.
@propertyWrapper
public struct AppDependency<Value: Sendable>: Sendable {
    private let key: String?

    public init() { key = nil }

    public init(key: String) { self.key = key }

    public var wrappedValue: Value {
        guard let value = AppDependencyManager.shared.dependency(of: Value.self, key: key) else {
            let name = key.map { " with the key “\($0)”" } ?? ""
            preconditionFailure(
                "no \(Value.self)\(name) was registered; call AppDependencyManager.shared.add(dependency:) when the app starts")
        }
        return value
    }
}
