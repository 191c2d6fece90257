import Synchronization

/// The dependencies of an app's queries and intents, which the app registers when it starts.
///
/// ```swift
/// AppDependencyManager.shared.add(dependency: AlbumCatalog(…))
/// ```
public final class AppDependencyManager: Sendable {
    /// The manager that ``AppDependency`` looks values up in.
    public static let shared = AppDependencyManager()

    private struct Name: Hashable, Sendable {
        let type: ObjectIdentifier
        let key: String?
    }

    /// A value that is made on first access.
    private final class Entry: Sendable {
        private let make: @Sendable () -> any Sendable
        private let made = Mutex<(any Sendable)?>(nil)

        init(_ make: @escaping @Sendable () -> any Sendable) { self.make = make }

        var value: any Sendable {
            made.withLock { made in
                if let made { return made }
                let value = make()
                made = value
                return value
            }
        }
    }

    private let entries = Mutex<[Name: Entry]>([:])

    /// A manager without dependencies, for tests.
    public init() {}

    /// Registers the value of `@Dependency` properties of its type; replaces one that was registered before.
    ///
    /// - Parameters:
    ///   - key: a name that distinguishes dependencies of one type.
    ///   - dependency: the value, evaluated once, on first access. It may read other dependencies, but not itself.
    public func add<Value: Sendable>(key: String? = nil, dependency: @autoclosure @escaping @Sendable () -> Value) {
        entries.withLock { $0[Name(type: ObjectIdentifier(Value.self), key: key)] = Entry(dependency) }
    }

    /// The registered value; nil if there is none.
    public func dependency<Value: Sendable>(of type: Value.Type = Value.self, key: String? = nil) -> Value? {
        registered(type, key: key)
    }

    /// The registered value. Its type need not be known to be `Sendable` where it is read: it is where it was added.
    fileprivate func registered<Value>(_ type: Value.Type, key: String?) -> Value? {
        let name = Name(type: ObjectIdentifier(type), key: key)
        // The value is made outside of this lock: it may itself read dependencies.
        return entries.withLock { $0[name] }?.value as? Value
    }
}

/// A value that the app registered with ``AppDependencyManager``, looked up when it is read.
///
/// Reading a value that was not registered is a programming error.
@propertyWrapper
public struct AppDependency<Value>: Sendable {
    private let key: String?

    /// The dependency of this type that was registered without a key.
    public init() { key = nil }

    /// The dependency of this type that was registered with a key.
    public init(key: String) { self.key = key }

    /// The registered value.
    ///
    /// - Precondition: a value of this type and key was registered.
    public var wrappedValue: Value {
        guard let value = AppDependencyManager.shared.registered(Value.self, key: key) else {
            let name = key.map { " with the key “\($0)”" } ?? ""
            // A precondition's message would be missing in release builds.
            fatalError(
                "no \(Value.self)\(name) was registered; "
                    + "call AppDependencyManager.shared.add(dependency:) when the app starts"
            )
        }
        return value
    }
}
