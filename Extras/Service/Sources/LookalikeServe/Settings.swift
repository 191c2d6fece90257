import Configuration
import Foundation
import LookalikeService

/// Settings that were not given as options: of the environment, then of a file.
struct Settings {
    private let reader: ConfigReader

    /// - Parameter file: a JSON file with an object; nil for none.
    /// - Throws: `ServiceError` if the file cannot be read, or has a setting that the service does not have.
    init(file: String?) async throws {
        // `queueTime` is LOOKALIKE_SERVE_QUEUE_TIME.
        var providers: [any ConfigProvider] = [EnvironmentVariablesProvider().prefixKeys(with: ["lookalike", "serve"])]
        if let file {
            try SettingsFile.check(file)
            let path = ConfigReader(provider: InMemoryProvider(values: ["filePath": .init(stringLiteral: file)]))
            do {
                providers.append(try await FileProvider<JSONSnapshot>(config: path))
            } catch {
                throw ServiceError("\(file): is not a JSON file with settings: \(error)")
            }
        }
        reader = ConfigReader(providers: providers)
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
