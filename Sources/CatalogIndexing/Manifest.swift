import CatalogEntities
import Foundation
import Imaging

/// Reads lists of entities: one per row, with the keys `id`, `image`, `images`, `type`, `title`, `subtitle` and
/// `labels`; other keys become attributes. Paths are relative to the manifest's folder. `image` is the first image, and
/// `images` are all or further ones.
enum Manifest {
    /// Reads comma-separated values, or those that are separated by another character of the first line.
    static func csv(_ url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        let text = try text(of: url)
        var rows = CSVReader(text)
        guard let header = rows.next() else { throw IndexProblem(subject: url.path, reason: "is empty") }
        let columns = header.fields.map { $0.trimmingCharacters(in: .whitespaces) }
        guard columns.contains("id") else {
            throw IndexProblem(
                subject: url.path,
                reason: "its first line has no column “id”; columns are separated by commas, semicolons or tabs")
        }
        guard columns.contains("image") || columns.contains("images") else {
            throw IndexProblem(subject: url.path, reason: "its first line has no column “image” or “images”")
        }
        if let twice = Dictionary(grouping: columns, by: { $0 }).first(where: { $0.value.count > 1 })?.key {
            throw IndexProblem(subject: url.path, reason: "its first line names “\(twice)” twice")
        }
        var items: [IndexItem] = []
        var problems: [IndexProblem] = []
        while let row = rows.next() {
            if row.fields == [""] { continue }
            let origin = "\(url.path):\(row.line)"
            if let damage = row.damage {
                problems.append(IndexProblem(subject: origin, reason: damage))
                continue
            }
            guard row.fields.count == columns.count else {
                problems.append(
                    IndexProblem(
                        subject: origin,
                        reason: "has \(row.fields.count) fields, but the first line has \(columns.count)"))
                continue
            }
            let values = Dictionary(uniqueKeysWithValues: zip(columns, row.fields))
            func parts(_ column: String, _ isSeparator: (Character) -> Bool) -> [String] {
                (values[column] ?? "").split(whereSeparator: isSeparator)
                    .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
            }
            add(
                values, labels: parts("labels") { $0 == ";" || $0 == "|" }, images: parts("images") { $0 == "|" },
                url: url, origin: origin, to: &items, problems: &problems)
        }
        return (items, problems)
    }

    static func jsonLines(_ url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        var items: [IndexItem] = []
        var problems: [IndexProblem] = []
        // Lines are split by bytes, since the two of a Windows line end are a single Character.
        let lines = try text(of: url).utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.allSatisfy(Self.isWhitespace) {
            let origin = "\(url.path):\(index + 1)"
            let object: [String: JSONValue]
            do {
                object = try JSONValue.object(in: Data(line), origin: origin)
            } catch {
                problems.append(error)
                continue
            }
            guard let images = paths(object["images"]) else {
                problems.append(IndexProblem(subject: origin, reason: "its “images” are not a list of paths"))
                continue
            }
            let values = object.filter { $0.value != .null }.mapValues(\.text)
            add(
                values, labels: JSONValue.labels(of: object), images: images, url: url, origin: origin, to: &items,
                problems: &problems)
        }
        return (items, problems)
    }

    /// The texts of a list; nil if it is none.
    private static func paths(_ value: JSONValue?) -> [String]? {
        guard let value, value != .null else { return [] }
        guard case .array(let list) = value else { return nil }
        let paths = list.compactMap { if case .string(let path) = $0, !path.isEmpty { path } else { nil } }
        return paths.count == list.count ? paths : nil
    }

    /// Space as JSON has it.
    static func isWhitespace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func text(of url: URL) throws -> String {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw IndexProblem(subject: url.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
        // Spreadsheets save what they call Unicode text with a byte order mark.
        let isUTF16 = data.starts(with: [0xFF, 0xFE]) || data.starts(with: [0xFE, 0xFF])
        guard !isUTF16 || data.count % 2 == 0, let text = String(data: data, encoding: isUTF16 ? .utf16 : .utf8) else {
            throw IndexProblem(subject: url.path, reason: "is not UTF-8 text; save it again as UTF-8")
        }
        return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// The absolute path of an image. A URL of a file is its path; others stay as they are, and are refused when they
    /// are read.
    private static func path(of image: String, in folder: String) -> String {
        guard FileLocation.isURL(image) else { return SystemPath.canonical(image, in: folder) }
        guard let url = URL(string: image), url.isFileURL, ["", "localhost"].contains(url.host ?? "") else {
            return image
        }
        return SystemPath.canonical(url.path)
    }

    private static func add(
        _ values: [String: String], labels: [String], images: [String], url: URL, origin: String,
        to items: inout [IndexItem], problems: inout [IndexProblem]
    ) {
        func value(_ key: String) -> String? { values[key].flatMap { $0.isEmpty ? nil : $0 } }
        for text in values.flatMap({ [$0.key, $0.value] }) + labels + images where text.utf8.contains(0) {
            problems.append(IndexProblem(subject: origin, reason: "contains a NUL character"))
            return
        }
        guard let id = value("id") else {
            problems.append(IndexProblem(subject: origin, reason: "has no id"))
            return
        }
        // The first image may be among all of them.
        var seen: Set<ExactText> = []
        let paths = ([value("image")].compactMap(\.self) + images)
            .map { path(of: $0, in: url.deletingLastPathComponent().path) }
            .filter { seen.insert(ExactText($0)).inserted }
        guard !paths.isEmpty else {
            problems.append(IndexProblem(subject: origin, reason: "has no image"))
            return
        }
        let entity = CatalogEntity(
            id: id, values: values.filter { !$0.value.isEmpty }, labels: labels, images: paths)
        items.append(IndexItem(entity: entity, origin: origin))
    }
}

/// The rows of comma-separated values (RFC 4180): fields in quotes may hold commas, line ends and doubled quotes. Rows
/// have line numbers, for reports.
///
/// Where the comma is the decimal sign, spreadsheets separate fields by semicolons, and others by tabs or bars: the
/// separator is the one that makes most of the first line. A line such as “sep=;” before it names the separator.
struct CSVReader: Sequence, IteratorProtocol {
    struct Row {
        /// The first line of the row, counted from 1.
        let line: Int
        let fields: [String]
        let damage: String?
    }

    private var rest: Substring.UnicodeScalarView
    private var line = 1
    private var separator: Unicode.Scalar = ","

    init(_ text: String) {
        rest = text[...].unicodeScalars
        if let named = Self.namedSeparator(rest.prefix { $0 != "\n" }) {
            separator = named
            rest = rest.drop { $0 != "\n" }.dropFirst()
            line = 2
        } else {
            separator = Self.separator(of: self)
        }
    }

    /// The separator that a line names; nil for another line.
    private static func namedSeparator(_ line: Substring.UnicodeScalarView) -> Unicode.Scalar? {
        let scalars = Array(line.last == "\r" ? line.dropLast() : line)
        return scalars.count == 5 && scalars.starts(with: "sep=".unicodeScalars) ? scalars[4] : nil
    }

    /// The first of the separators that makes a column “id” of the first line, or else the first that makes several
    /// columns.
    private static func separator(of reader: CSVReader) -> Unicode.Scalar {
        let candidates = ([",", ";", "\t", "|"] as [Unicode.Scalar]).map { separator in
            var reader = reader
            reader.separator = separator
            return (separator, (reader.next()?.fields ?? []).map { $0.trimmingCharacters(in: .whitespaces) })
        }
        let found = candidates.first { $0.1.count > 1 && $0.1.contains("id") } ?? candidates.first { $0.1.count > 1 }
        return found?.0 ?? ","
    }

    mutating func next() -> Row? {
        guard !rest.isEmpty else { return nil }
        let start = line
        var fields: [String] = []
        var field = String.UnicodeScalarView()
        var damage: String?
        var isQuoted = false
        var wasQuoted = false
        while let scalar = rest.popFirst() {
            if scalar == "\n" { line += 1 }
            if isQuoted {
                if scalar != "\"" {
                    field.append(scalar)
                } else if rest.first == "\"" {
                    field.append(rest.removeFirst())
                } else {
                    isQuoted = false
                }
                continue
            }
            switch scalar {
            case "\"" where field.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
            case separator:
                fields.append(String(field))
                field = String.UnicodeScalarView()
                wasQuoted = false
            case "\r" where rest.first == "\n": break
            case "\n":
                fields.append(String(field))
                return Row(line: start, fields: fields, damage: damage)
            default:
                if wasQuoted { damage = damage ?? "has text after a closing quote" }
                field.append(scalar)
            }
        }
        if isQuoted { damage = "opens a quote that is never closed" }
        fields.append(String(field))
        return Row(line: start, fields: fields, damage: damage)
    }
}

/// Any JSON value, so that attributes can be numbers, Booleans or lists.
package enum JSONValue: Decodable, Equatable, Sendable {
    case string(String), integer(Int64), number(Double), bool(Bool), array([JSONValue]), object([String: JSONValue]),
        null

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // Long numbers are ids more often than quantities: up to 38 digits are kept.
            let digits = abs(value) >= 0x1p63 ? try? container.decode(Decimal.self) : nil
            self = digits.map { .string("\($0)") } ?? .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// The text of an attribute, or of an id.
    package var text: String {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        case .array(let values): values.map(\.text).joined(separator: ";")
        case .object(let values):
            values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: ";")
        case .null: ""
        }
    }

    /// Deeper values are refused: decoding takes time that grows with the square of the depth.
    static let deepestNesting = 32

    /// The object that a line is.
    ///
    /// - Parameter origin: the line, for the error.
    /// - Throws: ``IndexProblem``.
    static func object(in line: Data, origin: String) throws(IndexProblem) -> [String: JSONValue] {
        let shape = shape(of: line)
        guard shape.nesting <= deepestNesting else {
            throw IndexProblem(subject: origin, reason: "is nested deeper than \(deepestNesting) levels")
        }
        guard let object = try? JSONDecoder().decode([String: JSONValue].self, from: line) else {
            throw IndexProblem(subject: origin, reason: "is not a JSON object")
        }
        // A dictionary keeps one of two keys that are the same, or that Swift takes for the same.
        guard object.count == shape.keyCount else {
            throw IndexProblem(subject: origin, reason: "names a key twice")
        }
        return object
    }

    /// The labels of an entity: a list, or a single one.
    static func labels(of object: [String: JSONValue]) -> [String] {
        switch object["labels"] {
        case .array(let list)?: list.map(\.text)
        case .null?, nil: []
        case let one?: [one.text]
        }
    }

    /// How deep arrays and objects are nested in a text of JSON, including the outermost, and how many keys that has.
    /// O(bytes).
    static func shape(of text: some Sequence<UInt8>) -> (nesting: Int, keyCount: Int) {
        var (depth, deepest, keyCount) = (0, 0, 0)
        var (isInString, isEscaped) = (false, false)
        for byte in text {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                case UInt8(ascii: ":"): keyCount += depth == 1 ? 1 : 0
                default: break
                }
            }
        }
        return (deepest, keyCount)
    }
}
