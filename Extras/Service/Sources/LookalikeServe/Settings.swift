import Configuration
import Foundation
import LookalikeService

/// Settings that were not given as options: of the environment, then of a file.
struct Settings {
    private let reader: ConfigReader

    /// - Parameter file: a JSON file with an object; nil for none.
    /// - Throws: `ServiceError` if the file cannot be read, or if it or the environment has a setting that the service
    ///   does not have.
    init(file: String?) throws(ServiceError) {
        // `queueTime` is LOOKALIKE_SERVE_QUEUE_TIME.
        let environment = EnvironmentVariablesProvider().prefixKeys(with: ["lookalike", "serve"])
        try Self.checkNames(of: environment)
        var providers: [any ConfigProvider] = [environment]
        if let file { providers.append(InMemoryProvider(values: try SettingsFile.values(of: file))) }
        reader = ConfigReader(providers: providers)
    }

    /// A variable that is mistyped would be passed over, as in ``SettingsFile``.
    private static func checkNames(of environment: some ConfigProvider) throws(ServiceError) {
        // The provider says what it looks for, whether that is there or not.
        let known = Set(
            SettingKind.all.keys.compactMap {
                try? environment.value(forKey: AbsoluteConfigKey([$0]), type: .string).encodedKey
            })
        let names = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("LOOKALIKE_SERVE_") }
        for name in names.sorted() where !known.contains(name) {
            throw ServiceError(
                "There is no setting for the variable \(name); there are \(known.sorted().joined(separator: ", ")).")
        }
    }

    func text(_ name: String) -> String? { reader.string(forKey: ConfigKey([name])) }
    func secret(_ name: String) -> String? { reader.string(forKey: ConfigKey([name]), isSecret: true) }

    /// - Throws: `ServiceError` if there is a value that is not of the type.
    func integer(_ name: String) throws -> Int? {
        try checked(name, "a whole number") { reader.int(forKey: ConfigKey([name])) }
    }

    func number(_ name: String) throws -> Double? {
        try checked(name, "a number") {
            reader.double(forKey: ConfigKey([name])) ?? reader.int(forKey: ConfigKey([name])).map(Double.init)
        }
    }

    func flag(_ name: String) throws -> Bool? {
        try checked(name, "true or false") { reader.bool(forKey: ConfigKey([name])) }
    }

    private func checked<Value>(_ name: String, _ kind: String, _ value: () -> Value?) throws -> Value? {
        if let value = value() { return value }
        if text(name) != nil { throw ServiceError("The setting “\(name)” is not \(kind).") }
        return nil
    }
}
