#if Service
public import Foundation

/// The parts of a `multipart/form-data` body.
///
/// Source: RFC 7578, and RFC 2046, section 5.1.
public struct MultipartForm: Sendable {
    /// A field or a file of the form.
    public struct Part: Sendable, Hashable {
        /// The name of the field.
        public let name: String
        /// The name of the file, as the client gives it; nil for a field. It is not a path to write to.
        public let fileName: String?
        /// The media type without parameters, in lower case; nil if the part has none.
        public let contentType: String?
        /// The bytes.
        public let body: Data

        /// The bytes as text; nil if they are not UTF-8.
        public var text: String? { String(data: body, encoding: .utf8) }
    }

    /// The parts in their order.
    public let parts: [Part]

    /// The maximum number of parts.
    public static let maximumPartCount = 1000

    /// The maximum number of bytes of a part's header.
    public static let maximumHeaderByteCount = 16 << 10

    /// Splits a body into its parts. O(bytes).
    ///
    /// - Parameter contentType: the header field of the request, with the boundary.
    /// - Throws: ``MultipartError``.
    public init(_ body: Data, contentType: String) throws(MultipartError) {
        let type = HeaderValue(contentType)
        guard let boundary = type.parameters["boundary"], (1...70).contains(boundary.utf8.count) else {
            throw .noBoundary
        }
        // Every delimiter starts a line; the first may start the body.
        let bytes = Data("\r\n".utf8) + body
        let delimiter = Data("\r\n--\(boundary)".utf8)
        guard var start = bytes.firstIndex(of: delimiter, from: 0) else { throw .truncated }
        start += delimiter.count
        var parts: [Part] = []
        while !bytes.has("--", at: start) {
            guard let content = bytes.endOfLine(from: start),
                let end = bytes.firstIndex(of: delimiter, from: content - 2)
            else { throw .truncated }
            guard parts.count < Self.maximumPartCount else { throw .tooManyParts }
            parts.append(try Self.part(bytes, from: content, to: end))
            start = end + delimiter.count
        }
        self.parts = parts
    }

    /// The first part of a name.
    public subscript(name: String) -> Part? { parts.first { $0.name == name } }

    private static func part(_ bytes: Data, from start: Int, to end: Int) throws(MultipartError) -> Part {
        var (name, fileName, contentType): (String?, String?, String?)
        var line = start
        while !bytes.has("\r\n", at: line) {
            guard line < end, let next = bytes.endOfLine(from: line), next - start <= maximumHeaderByteCount else {
                throw .damagedHeader
            }
            let text = String(decoding: bytes[line..<(next - 2)], as: UTF8.self)
            line = next
            guard let colon = text.firstIndex(of: ":") else { throw .damagedHeader }
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            switch text[..<colon].lowercased() {
            case "content-disposition":
                let disposition = HeaderValue(value)
                (name, fileName) = (disposition.parameters["name"], disposition.parameters["filename"])
            case "content-type": contentType = HeaderValue(value).name
            default: break
            }
        }
        guard let name else { throw .noName }
        // The delimiter of an empty part begins with the line break that ends its header.
        return Part(
            name: name, fileName: fileName, contentType: contentType,
            body: line + 2 <= end ? Data(bytes[(line + 2)..<end]) : Data())
    }
}

/// Why a body is not a form.
public enum MultipartError: Error, Equatable, CustomStringConvertible {
    /// The content type has no boundary of 1 to 70 bytes.
    case noBoundary
    /// The body ends before its last delimiter.
    case truncated
    /// A part has a damaged header, or one of more than ``MultipartForm/maximumHeaderByteCount`` bytes.
    case damagedHeader
    /// A part has no name.
    case noName
    /// More than ``MultipartForm/maximumPartCount`` parts.
    case tooManyParts

    public var description: String {
        switch self {
        case .noBoundary: "the content type of the form has no boundary"
        case .truncated: "the form ends before its last boundary"
        case .damagedHeader: "a part of the form has a damaged header"
        case .noName: "a part of the form has no name"
        case .tooManyParts: "the form has more than \(MultipartForm.maximumPartCount) parts"
        }
    }
}

extension Data {
    /// Where `pattern` begins, at `start` or later; nil if it does not occur.
    fileprivate func firstIndex(of pattern: Data, from start: Int) -> Int? {
        guard start >= 0, start <= count else { return nil }
        return withUnsafeBytes { bytes in
            pattern.withUnsafeBytes { pattern in
                guard let base = bytes.baseAddress, let wanted = pattern.baseAddress else { return nil }
                var next = start
                while next + pattern.count <= bytes.count,
                    let first = memchr(base + next, Int32(pattern[0]), bytes.count - pattern.count - next + 1)
                {
                    if memcmp(first, wanted, pattern.count) == 0 { return UnsafeRawPointer(first) - base }
                    next = UnsafeRawPointer(first) - base + 1
                }
                return nil
            }
        }
    }

    fileprivate func has(_ text: String, at index: Int) -> Bool {
        index + text.utf8.count <= count && self[index..<(index + text.utf8.count)].elementsEqual(text.utf8)
    }

    /// Where the next line begins.
    fileprivate func endOfLine(from start: Int) -> Int? {
        firstIndex(of: Data("\r\n".utf8), from: start).map { $0 + 2 }
    }
}

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
#endif
