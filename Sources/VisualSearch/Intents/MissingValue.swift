/// A type that has a value for “nothing”.
private protocol NilRepresentable {
    static var absent: Self { get }
    var isAbsent: Bool { get }
}

extension Optional: NilRepresentable {
    static var absent: Self { nil }
    var isAbsent: Bool { self == nil }
}

/// What a parameter or a property that was not set reads as: `.some(nil)` for an optional type, and no value at all
/// for any other.
func missingValue<Value>(of type: Value.Type = Value.self) -> Value? {
    func absent<Nil: NilRepresentable>(_: Nil.Type) -> Value? { Nil.absent as? Value }
    return (type as? any NilRepresentable.Type).flatMap { absent($0) }
}

/// Whether a value is nil.
func isMissing<Value>(_ value: Value) -> Bool {
    func check<Nil: NilRepresentable>(_: Nil.Type) -> Bool { (value as? Nil)?.isAbsent ?? true }
    return (Value.self as? any NilRepresentable.Type).map { check($0) } ?? false
}
