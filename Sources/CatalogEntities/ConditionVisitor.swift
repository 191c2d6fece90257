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
