package import CatalogEntities
import Foundation
import Imaging

/// Reads lists of entities: one per row, with the keys `id`, `image`, `images`, `type`, `title`, `subtitle` and
/// `labels` (or `label`) in any case. Other keys become attributes, and so does what an object `attributes` holds.
/// Paths are relative to the manifest's folder. `image` is the first image, and `images` are all or further ones.
enum Manifest {
    /// Reads comma-separated values, or those that are separated by another character of the first line.
    static func csv(_ url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        let text = try text(of: url)
        var rows = CSVReader(text)
        guard let header = rows.next() else { throw IndexProblem(subject: url.path, reason: "is empty") }
        let columns = keys(header.fields.map { $0.trimmingCharacters(in: .whitespaces) })
        guard columns.contains("id") else {
            throw IndexProblem(
                subject: url.path,
                reason: "its first line has no column “id”; columns are separated by commas, semicolons or tabs")
        }
        guard columns.contains("image") || columns.contains("images") else {
            throw IndexProblem(subject: url.path, reason: "its first line has no column “image” or “images”")
        }
        let named = columns.indices.filter { !columns[$0].isEmpty }
        if let twice = Dictionary(grouping: named, by: { columns[$0] }).first(where: { $0.value.count > 1 })?.key {
            throw IndexProblem(subject: url.path, reason: "its first line names “\(twice)” twice")
        }
        var items: [IndexItem] = []
        var problems: [IndexProblem] = []
        var table = ManifestTable(columns: columns, url: url)
        while let row = rows.next() {
            if row.fields.allSatisfy({ $0.allSatisfy(\.isWhitespace) }) { continue }
            let origin = "\(url.path):\(row.line)"
            if let damage = row.damage {
                problems.append(IndexProblem(subject: origin, reason: damage))
                continue
            }
            // Spreadsheets add separators at the end of a line, and leave them out there.
            guard row.fields.count > (named.last ?? 0),
                row.fields.dropFirst(columns.count).allSatisfy({ $0.allSatisfy(\.isWhitespace) })
            else {
                problems.append(
                    IndexProblem(
                        subject: origin,
                        reason: "has \(row.fields.count) fields, but the first line has \(columns.count)"))
                continue
            }
            table.add(row.fields, line: row.line)
        }
        let (lines, notes) = table.read(separator: rows.separator)
        for (line, fields) in lines {
            let values = Dictionary(uniqueKeysWithValues: named.map { (columns[$0], fields[$0]) })
            func parts(_ column: String, _ isSeparator: (Character) -> Bool) -> [String] {
                let text = values[column] ?? ""
                if let list = AttributeList.values(in: text) { return list.map(\.text).filter { !$0.isEmpty } }
                return text.split(whereSeparator: isSeparator)
                    .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
            }
            do throws(IndexProblem) {
                items.append(
                    try item(
                        values, labels: parts("labels") { $0 == ";" || $0 == "|" },
                        paths: parts("images") { $0 == "|" }, folder: url.deletingLastPathComponent().path,
                        origin: "\(url.path):\(line)"))
            } catch {
                problems.append(error)
            }
        }
        if !items.isEmpty { items[0].notes = notes }
        return (items, problems)
    }

    private static let knownKeys: Set = ["id", "image", "images", "type", "title", "subtitle", "labels"]

    /// Names of columns, where a known one may be in another case; two that differ in nothing else stay.
    static func keys(_ names: [String]) -> [String] {
        func key(_ name: String) -> String { name.lowercased() == "label" ? "labels" : name.lowercased() }
        let counts = Dictionary(grouping: names, by: key).mapValues(\.count)
        return names.map { knownKeys.contains(key($0)) && counts[key($0)] == 1 ? key($0) : $0 }
    }

    static func jsonLines(_ url: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        var items: [IndexItem] = []
        var problems: [IndexProblem] = []
        // Lines are split by bytes, since the two of a Windows line end are a single Character.
        let text = try text(of: url).utf8
        let end = UInt8(ascii: text.contains(UInt8(ascii: "\n")) ? "\n" : "\r")
        let lines = text.split(separator: end, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.allSatisfy(Self.isWhitespace) {
            do throws(IndexProblem) {
                items.append(
                    try item(
                        ofLine: Data(line), in: url.deletingLastPathComponent().path,
                        origin: "\(url.path):\(index + 1)"))
            } catch {
                problems.append(error)
            }
        }
        return (items, problems)
    }

    /// The item of a line.
    ///
    /// - Parameter images: its images; nil for the files that it names.
    static func item(
        ofLine line: Data, in folder: String, origin: String, images: [IndexImage]? = nil
    ) throws(IndexProblem) -> IndexItem {
        let object = try JSONValue.object(in: line, origin: origin)
        let attributes = try JSONValue.attributes(of: object, origin: origin)
        guard let paths = paths(object["images"]) else {
            throw IndexProblem(subject: origin, reason: "its “images” are not a list of paths")
        }
        return try item(
            JSONValue.values(of: object), attributes: attributes, labels: JSONValue.labels(of: object), paths: paths,
            images: images, folder: folder, origin: origin)
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
        func unreadable(_ reason: String) -> IndexProblem {
            IndexProblem(subject: url.path, reason: "\(reason); save it again as UTF-8")
        }
        if data.starts(with: [0xFF, 0xFE, 0, 0]) || data.starts(with: [0, 0, 0xFE, 0xFF]) {
            throw unreadable("is UTF-32 text")
        }
        // Spreadsheets save what they call Unicode text with a byte order mark.
        let isUTF16 = data.starts(with: [0xFF, 0xFE]) || data.starts(with: [0xFE, 0xFF])
        if isUTF16, data.count % 2 != 0 { throw unreadable("is UTF-16 text that ends within a character") }
        let zeros = isUTF16 ? 0 : data.prefix(1000).count { $0 == 0 }
        if zeros > 0, zeros * 3 > min(data.count, 1000) {
            throw unreadable("is UTF-16 text without a byte order mark")
        }
        guard let text = String(data: data, encoding: isUTF16 ? .utf16 : .utf8) else {
            if isUTF16 { throw unreadable("is no UTF-16 text, although it begins like one") }
            let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let line = lines.firstIndex { String(data: $0, encoding: .utf8) == nil } ?? 0
            throw unreadable("is not UTF-8 text in line \(line + 1)")
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

    private static func item(
        _ values: [String: String], attributes: [String: String] = [:], labels: [String], paths: [String],
        images: [IndexImage]? = nil, folder: String, origin: String
    ) throws(IndexProblem) -> IndexItem {
        func value(_ key: String) -> String? { values[key].flatMap { $0.isEmpty ? nil : $0 } }
        guard let id = value("id") else { throw IndexProblem(subject: origin, reason: "has no id") }
        // The first image may be among all of them.
        var seen: Set<ExactText> = []
        let paths = ([value("image")].compactMap(\.self) + paths)
            // What an image in memory is called is no path.
            .map { images == nil ? path(of: $0, in: folder) : $0 }
            .filter { seen.insert(ExactText($0)).inserted }
        guard images.map({ !$0.isEmpty }) ?? !paths.isEmpty else {
            throw IndexProblem(subject: origin, reason: "has no image")
        }
        var entity = CatalogEntity(
            id: id, values: values.filter { !$0.value.isEmpty }, labels: labels, images: paths)
        entity.attributes.merge(attributes.filter { !$0.value.isEmpty }) { $1 }
        let item =
            images.map { IndexItem(entity, images: $0, origin: origin) } ?? IndexItem(entity: entity, origin: origin)
        guard !item.entity.hasNUL else { throw IndexProblem(subject: origin, reason: "contains a NUL character") }
        return item
    }
}

extension IndexItem {
    /// The item of an entity as JSON, as a line of a manifest has it.
    ///
    /// - Parameters:
    ///   - folder: what paths are relative to.
    ///   - images: its images; nil for the files that it names.
    /// - Throws: ``IndexProblem`` with the origin as its subject.
    package init(
        json text: String, in folder: String, origin: String, images: [IndexImage]? = nil
    ) throws(IndexProblem) {
        self = try Manifest.item(ofLine: Data(text.utf8), in: folder, origin: origin, images: images)
    }
}

/// The rows of a manifest, whose columns are read as wholes: what is a number in one row depends on the others.
private struct ManifestTable {
    let columns: [String]
    let url: URL
    private var rows: [(line: Int, fields: [String])] = []
    /// Nil for a column that has no numbers to compare.
    private var numbers: [NumberColumn?]

    private static let mostNotesPerColumn = 10

    init(columns: [String], url: URL) {
        (self.columns, self.url) = (columns, url)
        let others = ["", "id", "image", "images", "type", "title", "subtitle", "labels"]
        numbers = columns.map {
            others.contains($0) || ProductCode.kind(ofAttribute: $0) != nil ? nil : NumberColumn(name: $0)
        }
    }

    mutating func add(_ fields: [String], line: Int) {
        let fields =
            Array(fields.prefix(columns.count)) + Array(repeating: "", count: max(0, columns.count - fields.count))
        rows.append((line, fields))
        for (index, field) in fields.enumerated() where !field.isEmpty { numbers[index]?.add(field, line: line) }
    }

    /// The rows with numbers as catalogs compare them, and what a user has to know about them.
    func read(separator: Unicode.Scalar) -> (rows: [(line: Int, fields: [String])], notes: [IndexReport.Note]) {
        var (rows, notes) = (rows, [IndexReport.Note]())
        func note(_ line: Int?, _ text: String) {
            notes.append(IndexReport.Note(subject: url.path + (line.map { ":\($0)" } ?? ""), text: text))
        }
        /// Notes about the values of a column, up to a number of them.
        func noteEach(_ index: Int, _ text: String, where isWrong: (String) -> Bool) {
            let wrong = rows.filter { isWrong($0.fields[index]) }
            for row in wrong.prefix(Self.mostNotesPerColumn) {
                note(row.line, "“\(columns[index])” is “\(row.fields[index])”, \(text)")
            }
            let count = wrong.count - Self.mostNotesPerColumn
            if count > 0 { note(nil, "“\(columns[index])” has such values in \(count) more rows") }
        }
        let signs = Set(numbers.compactMap { $0?.sign })
        for (index, column) in columns.enumerated() {
            if column.isEmpty, let row = rows.first(where: { !$0.fields[index].allSatisfy(\.isWhitespace) }) {
                note(row.line, "column \(index + 1) has no name and is left out")
            }
            if ProductCode.kind(ofAttribute: column) != nil {
                noteEach(index, "a number that a spreadsheet has shortened; format the column as text there") {
                    $0.utf8.contains { "Ee".utf8.contains($0) }
                        && $0.wholeMatch(of: /[0-9][.,][0-9]+[Ee]\+?[0-9]+/) != nil
                }
            }
            guard let numbers = numbers[index], numbers.isNumeric else { continue }
            var sign = NumberColumn.DecimalSign.point
            switch numbers.reading(signs: signs, separator: separator) {
            case .plain: break
            case .unclear(let reason):
                note(nil, "“\(column)” has numbers that cannot be told: \(reason); write all of them in one way")
            case .numbers(let found):
                sign = found
                var isNoted = false
                for row in rows.indices {
                    let text = rows[row].fields[index]
                    guard let number = NumberColumn.number(text, sign), number != text else { continue }
                    rows[row].fields[index] = number
                    if isNoted { continue }
                    note(rows[row].line, "“\(column)” is a column of numbers: “\(text)” is stored as \(number)")
                    isNoted = true
                }
            }
            noteEach(index, "which is no number; comparisons with numbers leave it out") {
                FieldValue.number($0.trimmingCharacters(in: .whitespaces)) == nil && $0.contains(where: \.isNumber)
            }
        }
        return (rows, notes)
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
    private(set) var separator: Unicode.Scalar = ","

    init(_ text: String) {
        rest = text[...].unicodeScalars
        if let named = Self.namedSeparator(rest.prefix { $0 != "\n" && $0 != "\r" }) {
            separator = named
            rest = rest.dropFirst(5)
            if rest.popFirst() == "\r", rest.first == "\n" { rest.removeFirst() }
            line = 2
        } else {
            separator = Self.separator(of: self)
        }
    }

    /// The separator that a line names; nil for another line.
    private static func namedSeparator(_ line: Substring.UnicodeScalarView) -> Unicode.Scalar? {
        let scalars = Array(line.prefix(6))
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
        let found =
            candidates.first { $0.1.count > 1 && Manifest.keys($0.1).contains("id") }
            ?? candidates.first { $0.1.count > 1 }
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
            // A line ends with either character, or with both.
            if scalar == "\n" || scalar == "\r" && rest.first != "\n" { line += 1 }
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
            case "\n", "\r":
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

extension JSONValue {
    /// Deeper values are refused: decoding takes time that grows with the square of the depth.
    static let deepestNesting = 32

    /// The object that a line is.
    ///
    /// - Parameter origin: the line, for the error.
    /// - Throws: ``IndexProblem``.
    static func object(in line: Data, origin: String) throws(IndexProblem) -> [String: JSONValue] {
        let shape = JSONShape(line)
        guard shape.nesting <= deepestNesting else {
            throw IndexProblem(subject: origin, reason: "is nested deeper than \(deepestNesting) levels")
        }
        guard let object = try? JSONDecoder().decode([String: JSONValue].self, from: line) else {
            throw IndexProblem(subject: origin, reason: "is not a JSON object")
        }
        if let key = shape.repeatedKey { throw IndexProblem(subject: origin, reason: "has the key “\(key)” twice") }
        return Dictionary(uniqueKeysWithValues: zip(Manifest.keys(Array(object.keys)), object.values))
    }

    /// The values of an entity's line but for those in its “attributes”.
    static func values(of object: [String: JSONValue]) -> [String: String] {
        object.filter { $0.value != .null && $0.key != "attributes" }.mapValues(\.text)
    }

    /// What the “attributes” of an entity's line hold, as listings and exports write them.
    static func attributes(
        of object: [String: JSONValue], origin: String
    ) throws(IndexProblem) -> [String: String] {
        switch object["attributes"] {
        case .object(let values)?: values.filter { $0.value != .null }.mapValues(\.text)
        case .null?, nil: [:]
        default: throw IndexProblem(subject: origin, reason: "its “attributes” are not an object")
        }
    }

    /// The labels of an entity: a list, or a single one.
    static func labels(of object: [String: JSONValue]) -> [String] {
        switch object["labels"] {
        case .array(let list)?: list.map(\.text)
        case .null?, nil: []
        case let one?: [one.text]
        }
    }
}
