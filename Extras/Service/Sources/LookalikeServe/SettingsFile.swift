import Foundation
import LookalikeService

/// Checks a JSON file with settings: a setting that is mistyped, or has another type, would be passed over, and a
/// service without the keys that it was given lets everybody write.
enum SettingsFile {
    private enum Kind: String {
        case text = "text"
        case whole = "a whole number"
        case number = "a number"
        case flag = "true or false"
    }

    private static let kinds: [String: Kind] = [
        "catalogs": .text, "host": .text, "port": .whole, "openToAll": .flag, "origins": .text, "keys": .text,
        "keysFile": .text, "tlsCertificates": .text, "tlsKey": .text, "samples": .text, "logLevel": .text,
        "bodyBytes": .whole, "bodyBytesInFlight": .whole, "pixels": .whole, "searches": .whole,
        "queuedSearches": .whole, "printSearches": .whole, "queuedWrites": .whole, "connections": .whole,
        "decodeTime": .number, "requestTime": .number, "queueTime": .number,
    ]

    /// - Throws: `ServiceError` if the file cannot be read, or has a setting that the service does not have.
    static func check(_ file: String) throws(ServiceError) {
        let values: [String: Value]
        do {
            values = try JSONDecoder().decode(
                [String: Value].self, from: try Data(contentsOf: URL(fileURLWithPath: file)))
        } catch is DecodingError {
            throw ServiceError("\(file): is not a JSON file with an object of settings")
        } catch {
            throw ServiceError("\(file): cannot be read: \(error.localizedDescription)")
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let kind = kinds[name] else {
                let known = kinds.keys.sorted().joined(separator: ", ")
                throw ServiceError("\(file): there is no setting “\(name)”; there are \(known)")
            }
            guard value.kinds.contains(kind) else {
                throw ServiceError("\(file): the setting “\(name)” is not \(kind.rawValue)")
            }
        }
    }

    private struct Value: Decodable {
        /// What the value may be.
        let kinds: Set<Kind>

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if (try? value.decode(Bool.self)) != nil {
                kinds = [.flag]
            } else if (try? value.decode(Int.self)) != nil {
                kinds = [.whole, .number]
            } else if (try? value.decode(Double.self)) != nil {
                kinds = [.number]
            } else if (try? value.decode(String.self)) != nil {
                kinds = [.text]
            } else {
                kinds = []
            }
        }
    }
}
