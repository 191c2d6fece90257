import Configuration
import Foundation
@_spi(Service) import LookalikeService

/// Settings that were not given as options: those in the environment, then those in a file.
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

    /// Refuses a mistyped variable, which would be passed over as in ``SettingsFile``.
    private static func checkNames(of environment: some ConfigProvider) throws(ServiceError) {
        // The provider names the variable that it looks for, whether there is one or not.
        let known = Set(
            SettingKind.all.keys.compactMap {
                try? environment.value(forKey: AbsoluteConfigKey([$0]), type: .string).encodedKey
            })
        let names = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("LOOKALIKE_SERVE_") }
        for name in names.sorted() where !known.contains(name) {
            throw ServiceError(
                subject: "variable \(name)",
                reason: "there is no such setting; there are \(known.sorted().joined(separator: ", ")).")
        }
    }

    func text(_ name: String) -> String? { reader.string(forKey: ConfigKey([name])) }
    /// Texts with commas in between.
    func list(_ name: String) -> [String] {
        (text(name) ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }
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
        if text(name) != nil { throw ServiceError(subject: "setting “\(name)”", reason: "is not \(kind).") }
        return nil
    }
}

/// What the value of a setting is.
enum SettingKind: String {
    case text = "text"
    case whole = "a whole number"
    case number = "a number"
    case flag = "true or false"

    /// All settings that the environment and a file can have, by name.
    static let all: [String: SettingKind] = [
        "catalogs": .text, "host": .text, "port": .whole, "openToAll": .flag, "origins": .text, "keys": .text,
        "keysFile": .text, "tlsCertificates": .text, "tlsKey": .text, "samples": .text, "logLevel": .text,
        "bodyBytes": .whole, "bodyBytesInFlight": .whole, "pixels": .whole, "searches": .whole,
        "queuedSearches": .whole, "printSearches": .whole, "queuedWrites": .whole, "connections": .whole,
        "openCatalogs": .whole, "requestsPerSecond": .number, "publicURL": .text, "trustedProxies": .text,
        "webhook": .text, "webhookSecretFile": .text, "taskBytes": .whole, "snapshotBytes": .whole,
        "publicThumbnails": .text, "signedThumbnails": .number, "healthPort": .whole, "logFormat": .text,
        "accessLog": .flag, "drainDelay": .number, "memory": .text, "diskReserve": .text,
        "backupEvery": .text, "keep": .whole, "backups": .text,
        "decodeTime": .number, "requestTime": .number, "queueTime": .number,
    ]
}

/// Reads a JSON file with settings, and checks it: a setting that is mistyped, or has another type, would be passed
/// over, and a service without the keys that it was given lets everybody write.
enum SettingsFile {
    /// The settings by name.
    ///
    /// - Throws: `ServiceError` if the file cannot be read, or has a setting that the service does not have.
    static func values(of file: String) throws(ServiceError) -> [AbsoluteConfigKey: ConfigValue] {
        let values: [String: Value]
        do {
            // `Data` does not read pipes.
            let text = try FileHandle(forReadingFrom: URL(fileURLWithPath: file)).readToEnd() ?? Data()
            values = try JSONDecoder().decode([String: Value].self, from: text)
        } catch is DecodingError {
            throw ServiceError(subject: file, reason: "is not a JSON file with an object of settings")
        } catch {
            throw ServiceError(subject: file, reason: "cannot be read: \(error.localizedDescription)")
        }
        var checked: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let kind = SettingKind.all[name] else {
                let known = SettingKind.all.keys.sorted().joined(separator: ", ")
                throw ServiceError(subject: file, reason: "there is no setting “\(name)”; there are \(known)")
            }
            guard let content = value.content, value.kinds.contains(kind) else {
                throw ServiceError(subject: file, reason: "the setting “\(name)” is not \(kind.rawValue)")
            }
            checked[AbsoluteConfigKey([name])] = ConfigValue(content, isSecret: name == "keys")
        }
        return checked
    }

    private struct Value: Decodable {
        /// The value's content; nil for null, an array or an object.
        let content: ConfigContent?
        /// What the value may be.
        let kinds: Set<SettingKind>

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let flag = try? value.decode(Bool.self) {
                (content, kinds) = (.bool(flag), [.flag])
            } else if let whole = try? value.decode(Int.self) {
                (content, kinds) = (.int(whole), [.whole, .number])
            } else if let number = try? value.decode(Double.self) {
                (content, kinds) = (.double(number), [.number])
            } else if let text = try? value.decode(String.self) {
                (content, kinds) = (.string(text), [.text])
            } else {
                (content, kinds) = (nil, [])
            }
        }
    }
}
