import Foundation
import Lookalike

/// Conditions as expressions of Milvus's filter language, and the JSON that they ask for.
///
/// An entity's fields are in the JSON field `fields` of each of its images: the folded texts under their stored names,
/// labels and lists as arrays, numbers and dates (in seconds since 1970) a second time in objects of their own, and the
/// product codes in one form. Only ids are not folded, as in a catalog. Milvus has no ranges and prefixes of an array's
/// members: those conditions do not hold for lists. A field that is missing has no value, and what Milvus makes of a
/// comparison with it depends on its version; so each comparison comes with the condition that the field exists.
struct MilvusFilter {
    /// Whether rows have the field `type`.
    let isPartitioned: Bool
    let error: (MilvusError.Reason) -> MilvusError

    private static let (numbers, dates, codes) = ("number", "date", "code")

    /// The value of the field `fields` for an entity.
    static func json(of entity: CatalogEntity) throws -> Data {
        var texts: [String: Any] = [:]
        var (numbers, dates) = ([String: Double](), [String: Double]())
        func add(_ field: EntityField, _ text: String?) {
            guard let text else { return }
            let name = name(of: field)
            texts[name] = field == .id ? text : TextFolding.folded(text)
            if field == .id { return }
            if let number = number(text) { numbers[name] = number }
            if let span = DateSpan(text) { dates[name] = span.start }
        }
        add(.id, entity.id)
        add(.type, entity.type)
        add(.title, entity.title)
        add(.subtitle, entity.subtitle)
        for (name, value) in entity.attributes {
            let values = EntityField.attribute(name).values(of: entity)
            if values == [value] {
                add(.attribute(name), value)
            } else if !values.isEmpty {
                texts[Self.name(of: .attribute(name))] = values.map(TextFolding.folded)
            }
        }
        if !entity.labels.isEmpty { texts[name(of: .label)] = entity.labels.map(TextFolding.folded) }
        if !numbers.isEmpty { texts[Self.numbers] = numbers }
        if !dates.isEmpty { texts[Self.dates] = dates }
        let codes = entity.productCodes.map(\.canonical)
        if !codes.isEmpty { texts[Self.codes] = codes }
        return try JSONSerialization.data(withJSONObject: texts, options: [.sortedKeys, .withoutEscapingSlashes])
    }

    /// The expression for a selection; empty for all entities.
    func expression(_ selection: RemoteSelection) throws(MilvusError) -> String {
        var parts: [String] = []
        if !selection.condition.isEverything { parts.append(try expression(selection.condition)) }
        if let only = selection.only { parts.append("(\(Field.entity.rawValue) in \(only))") }
        if !selection.excluded.isEmpty { parts.append("(not (\(Field.entity.rawValue) in \(selection.excluded)))") }
        return parts.joined(separator: " and ")
    }

    private static let (always, never) = ("(key >= 0)", "(key < 0)")

    func expression(_ condition: Condition) throws(MilvusError) -> String { try condition.visited(by: self) }

    private func joined(_ parts: [Condition], _ word: String) throws(MilvusError) -> String? {
        var expressions: [String] = []
        for part in parts { expressions.append(try expression(part)) }
        return expressions.isEmpty ? nil : "(\(expressions.joined(separator: " \(word) ")))"
    }

    private func guarded(_ path: String, _ comparison: String) -> String {
        "((exists \(path)) and (\(comparison)))"
    }

    private func guarded(_ path: String, _ comparisons: [String?]) -> String {
        let comparisons = comparisons.compactMap(\.self)
        return comparisons.isEmpty ? "(exists \(path))" : guarded(path, comparisons.joined(separator: " and "))
    }

    private func path(_ field: EntityField) -> String { "\(Field.fields.rawValue)[\"\(Self.name(of: field))\"]" }

    /// - Parameter object: numbers or dates; nil for the texts.
    private func path(_ field: EntityField, in object: String?) throws(MilvusError) -> String {
        guard field != .label else {
            throw error(.unsupportedCondition("a range or a prefix of labels; give whole labels"))
        }
        guard field != .id || object == nil else {
            throw error(.unsupportedCondition("a range of ids, which are texts; compare an attribute"))
        }
        return Field.fields.rawValue + (object.map { "[\"\($0)\"]" } ?? "") + "[\"\(Self.name(of: field))\"]"
    }

    /// The key of a field: its stored name. What is no letter or digit of ASCII is written as its bytes, since paths in
    /// expressions have no escapes that all versions know.
    private static func name(of field: EntityField) -> String {
        guard case .attribute(let name) = field else { return field.description }
        return "attribute."
            + name.utf8.map { byte in
                let isPlain =
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                return isPlain || byte == 0x5F ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", byte)
            }.joined()
    }

    private func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    /// The number that a text is, in decimal notation, as a catalog reads it.
    private static func number(_ text: String) -> Double? {
        let isDecimal =
            text.utf8.contains { (0x30...0x39).contains($0) }
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isDecimal, let value = Double(text), value.isFinite else { return nil }
        return value
    }
}

extension MilvusFilter: ConditionVisitor {
    typealias Failure = MilvusError

    func isAnyOf(_ field: EntityField, _ values: [String]) -> String {
        guard !values.isEmpty else { return Self.never }
        let values = field == .id ? values : values.map(TextFolding.folded)
        let list = values.map(literal).joined(separator: ", ")
        let hasMember = "json_contains_any(\(path(field)), [\(list)])"
        if field == .label { return guarded(path(field), hasMember) }
        var comparisons = values.map { "\(path(field)) == \(literal($0))" }
        if case .attribute = field { comparisons.append(hasMember) }
        let isAny = guarded(path(field), comparisons.joined(separator: " or "))
        guard isPartitioned, field == .type else { return isAny }
        // The server reads the partitions of these alone. An empty text may also stand for no type.
        return "((\(Field.type.rawValue) in [\(values.map(literal).joined(separator: ", "))]) and \(isAny))"
    }

    func number(_ field: EntityField, _ range: ValueRange<Double>) throws(MilvusError) -> String {
        let path = try path(field, in: Self.numbers)
        func bound(_ sign: String, _ end: ValueRange<Double>.End?) -> String? {
            guard let end, end.value.isFinite else { return nil }
            return "\(path) \(sign)\(end.isIncluded ? "=" : "") \(end.value)"
        }
        let isEmpty = range.lower?.value == .infinity || range.upper?.value == -.infinity
        return isEmpty ? Self.never : guarded(path, [bound(">", range.lower), bound("<", range.upper)])
    }

    func date(_ field: EntityField, _ range: ValueRange<String>) throws(MilvusError) -> String {
        let path = try path(field, in: Self.dates)
        let (lower, upper) = (range.lower.map { DateSpan($0.value) }, range.upper.map { DateSpan($0.value) })
        if case .some(nil) = lower { return Self.never }
        if case .some(nil) = upper { return Self.never }
        // A day is all its times, and an instant is itself.
        func isInstant(_ span: DateSpan) -> Bool { span.start == span.end }
        let after = lower.flatMap(\.self).map { span in
            range.lower?.isIncluded == true
                ? "\(path) >= \(span.start)" : "\(path) \(isInstant(span) ? ">" : ">=") \(span.end)"
        }
        let before = upper.flatMap(\.self).map { span in
            range.upper?.isIncluded == true
                ? "\(path) \(isInstant(span) ? "<=" : "<") \(span.end)" : "\(path) < \(span.start)"
        }
        return guarded(path, [after, before])
    }

    func within(
        kilometers: Double, of point: GeoPoint, latitude: EntityField, longitude: EntityField
    ) throws(MilvusError) -> String {
        throw error(.unsupportedCondition("a distance from a point; compare latitudes and longitudes"))
    }

    func hasPrefix(_ field: EntityField, _ prefix: String) throws(MilvusError) -> String {
        let path = try path(field, in: nil)
        let prefix = field == .id ? prefix : TextFolding.folded(prefix)
        return guarded(path, ["\(path) >= \(literal(prefix))", "\(path) <= \(literal(prefix + "\u{10FFFF}"))"])
    }

    func exists(_ field: EntityField) -> String { "(exists \(path(field)))" }

    func hasCode(_ codes: [String]) -> String {
        let list = codes.flatMap(ProductCode.readings(of:)).map { literal($0.canonical) }
        guard !list.isEmpty else { return Self.never }
        let path = "\(Field.fields.rawValue)[\"\(Self.codes)\"]"
        return guarded(path, ["json_contains_any(\(path), [\(list.joined(separator: ", "))])"])
    }

    func not(_ condition: Condition) throws(MilvusError) -> String { "(not \(try expression(condition)))" }

    func all(_ parts: [Condition]) throws(MilvusError) -> String { try joined(parts, "and") ?? Self.always }

    func any(_ parts: [Condition]) throws(MilvusError) -> String { try joined(parts, "or") ?? Self.never }

    func other(_ condition: Condition) throws(MilvusError) -> String {
        throw error(.unsupportedCondition("“\(condition)”"))
    }
}
