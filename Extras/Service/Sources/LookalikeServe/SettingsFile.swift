import Configuration
import Foundation
import LookalikeService

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
            throw ServiceError("\(file): is not a JSON file with an object of settings")
        } catch {
            throw ServiceError("\(file): cannot be read: \(error.localizedDescription)")
        }
        var checked: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let kind = SettingKind.all[name] else {
                let known = SettingKind.all.keys.sorted().joined(separator: ", ")
                throw ServiceError("\(file): there is no setting “\(name)”; there are \(known)")
            }
            guard let content = value.content, value.kinds.contains(kind) else {
                throw ServiceError("\(file): the setting “\(name)” is not \(kind.rawValue)")
            }
            checked[AbsoluteConfigKey([name])] = ConfigValue(content, isSecret: name == "keys")
        }
        return checked
    }

    private struct Value: Decodable {
        /// Nil for null, an array or an object.
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
