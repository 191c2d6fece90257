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
        "decodeTime": .number, "requestTime": .number, "queueTime": .number,
    ]
}
