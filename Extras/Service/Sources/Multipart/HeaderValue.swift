import Foundation

/// A value with parameters, such as a content type or a content disposition: `name; key=value; key="quoted value"`.
///
/// Source: RFC 9110, section 5.6.6.
public struct HeaderValue: Sendable, Hashable {
    /// What precedes the parameters, in lower case.
    public let name: String
    /// The parameters; their names in lower case.
    public let parameters: [String: String]

    /// Reads a header field. What cannot be read is left out.
    public init(_ text: String) {
        var scanner = Substring(text)
        name = Self.token(&scanner).lowercased()
        var parameters: [String: String] = [:]
        while let semicolon = scanner.firstIndex(of: ";") {
            scanner = scanner[scanner.index(after: semicolon)...]
            guard let equals = scanner.firstIndex(where: { $0 == "=" || $0 == ";" }), scanner[equals] == "=" else {
                continue
            }
            let key = scanner[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            scanner = scanner[scanner.index(after: equals)...]
            let value = scanner.first == "\"" ? Self.quoted(&scanner) : Self.token(&scanner)
            if parameters[key] == nil { parameters[key] = value }
        }
        self.parameters = parameters
    }

    private static func token(_ scanner: inout Substring) -> String {
        let end = scanner.firstIndex(of: ";") ?? scanner.endIndex
        defer { scanner = scanner[end...] }
        return scanner[..<end].trimmingCharacters(in: .whitespaces)
    }

    private static func quoted(_ scanner: inout Substring) -> String {
        var value = ""
        var isEscaped = false
        scanner.removeFirst()
        while let character = scanner.popFirst() {
            if isEscaped {
                // Browsers write quotation marks as %22, and old ones the backslashes of paths as they are.
                if character != "\"" && character != "\\" { value.append("\\") }
                value.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                value.append(character)
            }
        }
        return value
    }
}
