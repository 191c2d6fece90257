import Foundation

/// What has to hold of an entity: the one way to say which entities are searched, listed, counted, changed or removed.
///
/// ```swift
/// let condition = EntityField.type.isAnyOf(["album"]) && EntityField.attribute("price") < 20
/// let same = try Condition(#"type = album and price < 20"#)
/// let matches = try await catalog.search(matching: photo, options: SearchOptions(condition: condition))
/// ```
///
/// A condition is applied before the nearest entities are selected: a search with a limit of 10 returns ten entities
/// that satisfy it, if there are as many. A catalog looks fields up in an index: a
/// condition costs O(log entities) and what it finds; a distance costs O(log entities) for each entity between the same
/// circles of latitude.
///
/// Text is compared without regard to case, diacritics and the form of Unicode, as in a search by text: `title = lodz`
/// finds “Łódź”. Ids are compared as they are. The names of attributes match without regard to case where only one
/// attribute is meant. An attribute that no entity has is an error, since a mistyped name would select nothing, or
/// everything if it is negated. A condition that asks whether the field has a value may name it nevertheless:
/// `exists year and year > 1990`.
///
/// A ``ConditionVisitor`` reads what a condition is made of.
public struct Condition: Sendable, Hashable {
    /// What a condition is made of. Other packages have ``ConditionVisitor``, so that a new kind is no change for them.
    package indirect enum Form: Sendable, Hashable {
        case isAnyOf(EntityField, [String])
        case number(EntityField, ValueRange<Double>)
        /// A number, with a bound that is a whole number beyond those of a `Double`.
        case whole(EntityField, ValueRange<Int64>)
        case date(EntityField, ValueRange<String>)
        case within(kilometers: Double, of: GeoPoint, latitude: EntityField, longitude: EntityField)
        case hasPrefix(EntityField, String)
        case contains(EntityField, String)
        case exists(EntityField)
        case hasCode([String])
        case not(Condition)
        case all([Condition])
        case any([Condition])
    }

    package let form: Form

    package init(_ form: Form) { self.form = form }

    /// The field has one of the values.
    public static func isAnyOf(_ field: EntityField, _ values: [String]) -> Condition { .init(.isAnyOf(field, values)) }

    /// The field is a number in a range, such as `9.90`. Whole numbers of 64 bits are compared exactly; a bound that a
    /// `Double` would round is read from text: `Condition("id > 9007199254740993")`.
    public static func number(_ field: EntityField, _ range: ValueRange<Double>) -> Condition {
        .init(.number(field, range))
    }

    /// The field is a date in a range: ISO 8601 (`1969-07-20` or `1969-07-20T20:17+02:00`), compared as instants with
    /// their zones (``DateSpan``). A bound without a time is a whole day, month or year; a field without one is its
    /// beginning. A bound that is no date leaves no entity, and cannot be coded.
    public static func date(_ field: EntityField, _ range: ValueRange<String>) -> Condition {
        .init(.date(field, range))
    }

    /// The entity is at most so far from a point of the earth. Two fields have its latitude and longitude in degrees,
    /// as numbers in -90…90 and -180…180.
    public static func within(
        kilometers: Double, of point: GeoPoint, latitude: EntityField = .attribute("latitude"),
        longitude: EntityField = .attribute("longitude")
    ) -> Condition {
        .init(.within(kilometers: kilometers, of: point, latitude: latitude, longitude: longitude))
    }

    /// The field starts with a text.
    public static func hasPrefix(_ field: EntityField, _ prefix: String) -> Condition {
        .init(.hasPrefix(field, prefix))
    }

    /// The field has a text anywhere in it, also within a word. O(entities that have the field).
    public static func contains(_ field: EntityField, _ part: String) -> Condition { .init(.contains(field, part)) }

    /// The field has a value.
    public static func exists(_ field: EntityField) -> Condition { .init(.exists(field)) }

    /// The entity has one of the product codes among its attributes, however both are written (``ProductCode``).
    public static func hasCode(_ codes: [String]) -> Condition { .init(.hasCode(codes)) }

    /// The condition does not hold.
    public static func not(_ condition: Condition) -> Condition { .init(.not(condition)) }

    /// All of the conditions hold. Every entity satisfies the empty list.
    public static func all(_ parts: [Condition]) -> Condition { .init(.all(parts)) }

    /// One of the conditions holds at least. No entity satisfies the empty list.
    public static func any(_ parts: [Condition]) -> Condition { .init(.any(parts)) }

    /// Every entity satisfies it.
    public static var everything: Condition { .all([]) }

    /// Whether every entity satisfies it, as its form shows.
    public var isEverything: Bool { if case .all(let parts) = form { parts.allSatisfy(\.isEverything) } else { false } }

    /// Both hold.
    public static func && (a: Condition, b: Condition) -> Condition {
        if a.isEverything { return b }
        return b.isEverything ? a : .all([a, b])
    }

    /// One of both holds.
    public static func || (a: Condition, b: Condition) -> Condition { .any([a, b]) }

    /// The condition does not hold.
    public static prefix func ! (condition: Condition) -> Condition { .not(condition) }

    /// A field that a condition names.
    package struct Test {
        /// The field.
        package let field: EntityField
        /// The values that it may have, if the condition lists them.
        package var values: [String] = []
        /// Whether the condition asks if the field has a value.
        package var isExistence = false
        /// What values have to be to satisfy the condition.
        package var kind = Kind.any

        package enum Kind { case any, number, date }
    }

    /// The fields that it names.
    package var tests: [Test] {
        switch form {
        case .isAnyOf(let field, let values): [Test(field: field, values: values)]
        // Without bounds it asks what the value is.
        case .number(let field, let range): [Test(field: field, kind: range == ValueRange() ? .any : .number)]
        case .whole(let field, _): [Test(field: field, kind: .number)]
        case .date(let field, let range): [Test(field: field, kind: range == ValueRange() ? .any : .date)]
        case .hasPrefix(let field, _), .contains(let field, _): [Test(field: field)]
        case .exists(let field): [Test(field: field, isExistence: true)]
        case .within(_, _, let latitude, let longitude): [latitude, longitude].map { Test(field: $0, kind: .number) }
        case .hasCode: []
        case .not(let condition): condition.tests
        case .all(let parts), .any(let parts): parts.flatMap(\.tests)
        }
    }

    /// The condition with other fields in place of those that it names.
    package func replacingFields(_ other: (EntityField) -> EntityField) -> Condition {
        switch form {
        case .isAnyOf(let field, let values): .isAnyOf(other(field), values)
        case .number(let field, let range): .number(other(field), range)
        case .whole(let field, let range): .init(.whole(other(field), range))
        case .date(let field, let range): .date(other(field), range)
        case .within(let kilometers, let point, let latitude, let longitude):
            .within(kilometers: kilometers, of: point, latitude: other(latitude), longitude: other(longitude))
        case .hasPrefix(let field, let prefix): .hasPrefix(other(field), prefix)
        case .contains(let field, let part): .contains(other(field), part)
        case .exists(let field): .exists(other(field))
        case .hasCode: self
        case .not(let condition): .not(condition.replacingFields(other))
        case .all(let parts): .all(parts.map { $0.replacingFields(other) })
        case .any(let parts): .any(parts.map { $0.replacingFields(other) })
        }
    }

    /// Whether both are the same bytes: `==` takes canonically equivalent strings for the same.
    package func isIdentical(to other: Condition) -> Bool { description.utf8.elementsEqual(other.description.utf8) }
}

/// A range of numbers or dates. Either end may be open, and may belong to the range or not.
public struct ValueRange<Value: Sendable & Hashable>: Sendable, Hashable {
    /// An end of the range.
    public struct End: Sendable, Hashable {
        /// Where the range ends.
        public var value: Value
        /// Whether the value belongs to the range.
        public var isIncluded: Bool

        /// An end of a range.
        public init(_ value: Value, isIncluded: Bool) {
            self.value = value
            self.isIncluded = isIncluded
        }
    }

    /// The lower end; nil for none.
    public var lower: End?
    /// The upper end; nil for none.
    public var upper: End?

    /// A range between two ends.
    public init(from lower: End? = nil, to upper: End? = nil) {
        self.lower = lower
        self.upper = upper
    }
}

extension EntityField {
    /// The field has one of the values.
    public func isAnyOf(_ values: some Sequence<String>) -> Condition { .isAnyOf(self, Array(values)) }
    /// The field starts with a text.
    public func hasPrefix(_ prefix: String) -> Condition { .hasPrefix(self, prefix) }
    /// The field has a text anywhere in it.
    public func contains(_ part: String) -> Condition { .contains(self, part) }
    /// The field has a value.
    public var exists: Condition { .exists(self) }
    /// The field is a number in a range.
    public func isIn(_ range: ClosedRange<Double>) -> Condition {
        .number(
            self,
            ValueRange(
                from: .init(range.lowerBound, isIncluded: true), to: .init(range.upperBound, isIncluded: true)))
    }

    /// The field is a smaller number.
    public static func < (field: EntityField, value: Double) -> Condition {
        .number(field, ValueRange(to: .init(value, isIncluded: false)))
    }
    /// The field is this number or a smaller one.
    public static func <= (field: EntityField, value: Double) -> Condition {
        .number(field, ValueRange(to: .init(value, isIncluded: true)))
    }
    /// The field is a larger number.
    public static func > (field: EntityField, value: Double) -> Condition {
        .number(field, ValueRange(from: .init(value, isIncluded: false)))
    }
    /// The field is this number or a larger one.
    public static func >= (field: EntityField, value: Double) -> Condition {
        .number(field, ValueRange(from: .init(value, isIncluded: true)))
    }
}

/// The values of fields as numbers and dates.
package enum FieldValue {
    /// The number that a text is, in decimal notation; nil for any other text.
    package static func number(_ text: String) -> Double? {
        let isDecimal =
            text.utf8.contains { (0x30...0x39).contains($0) }
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isDecimal, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The whole number of 64 bits that a text is, such as `5` or `5.00`.
    package static func integer(_ text: String) -> Int64? { Int64(withoutFraction(text)) }

    /// Whether a text is a whole number that a `Double` would round.
    package static func isRounded(_ text: String) -> Bool {
        let whole = withoutFraction(text)
        let digits = whole.utf8.drop { "+-".utf8.contains($0) }.drop { $0 == UInt8(ascii: "0") }
        guard digits.count > 15, digits.allSatisfy({ (0x30...0x39).contains($0) }), let value = Double(whole) else {
            return false
        }
        return String(format: "%.0f", abs(value)) != String(digits)
    }

    /// A text up to its decimal point, if it has zeros alone behind it.
    private static func withoutFraction(_ text: String) -> Substring {
        let zero = UInt8(ascii: "0")
        guard let point = text.utf8.firstIndex(of: UInt8(ascii: ".")),
            text.utf8[point...].dropFirst().allSatisfy({ $0 == zero })
        else { return text[...] }
        return text[..<point]
    }
}

/// What makes something of conditions, such as the filter of a database: a method for each kind.
///
/// ```swift
/// struct Types: ConditionVisitor {
///     func isAnyOf(_ field: EntityField, _ values: [String]) -> [String]? { field == .type ? values : nil }
///     func other(_ condition: Condition) -> [String]? { nil }
/// }
/// let types = condition.visited(by: Types())
/// ```
///
/// A kind that a visitor has no method for, such as one of a later version, is given to ``other(_:)``.
public protocol ConditionVisitor<Output> {
    /// What is made of a condition.
    associatedtype Output
    /// What its methods throw.
    associatedtype Failure: Error = Never

    /// ``Condition/isAnyOf(_:_:)``.
    func isAnyOf(_ field: EntityField, _ values: [String]) throws(Failure) -> Output
    /// ``Condition/number(_:_:)``.
    func number(_ field: EntityField, _ range: ValueRange<Double>) throws(Failure) -> Output
    /// ``Condition/date(_:_:)``.
    func date(_ field: EntityField, _ range: ValueRange<String>) throws(Failure) -> Output
    /// ``Condition/within(kilometers:of:latitude:longitude:)``.
    func within(
        kilometers: Double, of point: GeoPoint, latitude: EntityField, longitude: EntityField
    ) throws(Failure) -> Output
    /// ``Condition/hasPrefix(_:_:)``.
    func hasPrefix(_ field: EntityField, _ prefix: String) throws(Failure) -> Output
    /// ``Condition/contains(_:_:)``.
    func contains(_ field: EntityField, _ part: String) throws(Failure) -> Output
    /// ``Condition/exists(_:)``.
    func exists(_ field: EntityField) throws(Failure) -> Output
    /// ``Condition/hasCode(_:)``.
    func hasCode(_ codes: [String]) throws(Failure) -> Output
    /// ``Condition/not(_:)``.
    func not(_ condition: Condition) throws(Failure) -> Output
    /// ``Condition/all(_:)``.
    func all(_ parts: [Condition]) throws(Failure) -> Output
    /// ``Condition/any(_:)``.
    func any(_ parts: [Condition]) throws(Failure) -> Output

    /// A condition of a kind that the visitor has no method for.
    func other(_ condition: Condition) throws(Failure) -> Output
}

extension ConditionVisitor {
    /// Takes it for ``other(_:)``.
    public func isAnyOf(_ field: EntityField, _ values: [String]) throws(Failure) -> Output {
        try other(.isAnyOf(field, values))
    }

    /// Takes it for ``other(_:)``.
    public func number(_ field: EntityField, _ range: ValueRange<Double>) throws(Failure) -> Output {
        try other(.number(field, range))
    }

    /// Takes it for ``other(_:)``.
    public func date(_ field: EntityField, _ range: ValueRange<String>) throws(Failure) -> Output {
        try other(.date(field, range))
    }

    /// Takes it for ``other(_:)``.
    public func within(
        kilometers: Double, of point: GeoPoint, latitude: EntityField, longitude: EntityField
    ) throws(Failure) -> Output {
        try other(.within(kilometers: kilometers, of: point, latitude: latitude, longitude: longitude))
    }

    /// Takes it for ``other(_:)``.
    public func hasPrefix(_ field: EntityField, _ prefix: String) throws(Failure) -> Output {
        try other(.hasPrefix(field, prefix))
    }

    /// Takes it for ``other(_:)``.
    public func contains(_ field: EntityField, _ part: String) throws(Failure) -> Output {
        try other(.contains(field, part))
    }

    /// Takes it for ``other(_:)``.
    public func exists(_ field: EntityField) throws(Failure) -> Output { try other(.exists(field)) }

    /// Takes it for ``other(_:)``.
    public func hasCode(_ codes: [String]) throws(Failure) -> Output { try other(.hasCode(codes)) }

    /// Takes it for ``other(_:)``.
    public func not(_ condition: Condition) throws(Failure) -> Output { try other(.not(condition)) }

    /// Takes it for ``other(_:)``.
    public func all(_ parts: [Condition]) throws(Failure) -> Output { try other(.all(parts)) }

    /// Takes it for ``other(_:)``.
    public func any(_ parts: [Condition]) throws(Failure) -> Output { try other(.any(parts)) }
}

extension Condition {
    /// What a visitor makes of the condition.
    public func visited<Visitor: ConditionVisitor>(
        by visitor: Visitor
    ) throws(Visitor.Failure) -> Visitor.Output {
        switch form {
        case .isAnyOf(let field, let values): try visitor.isAnyOf(field, values)
        case .number(let field, let range): try visitor.number(field, range)
        case .whole: try visitor.other(self)
        case .date(let field, let range): try visitor.date(field, range)
        case .within(let kilometers, let point, let latitude, let longitude):
            try visitor.within(kilometers: kilometers, of: point, latitude: latitude, longitude: longitude)
        case .hasPrefix(let field, let prefix): try visitor.hasPrefix(field, prefix)
        case .contains(let field, let part): try visitor.contains(field, part)
        case .exists(let field): try visitor.exists(field)
        case .hasCode(let codes): try visitor.hasCode(codes)
        case .not(let condition): try visitor.not(condition)
        case .all(let parts): try visitor.all(parts)
        case .any(let parts): try visitor.any(parts)
        }
    }
}
