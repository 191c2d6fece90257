/// A parameter of an intent, set by its caller.
///
/// One that is not set is nil if its type is optional; reading any other is a programming error.
@propertyWrapper
public struct IntentParameter<Value: Sendable>: Sendable {
    /// The name of the parameter.
    public let title: LocalizedStringResource?
    /// What the parameter is for.
    public let description: LocalizedStringResource?
    /// The question to ask if it is missing.
    public let requestValueDialog: IntentDialog?
    /// The question to ask if several values may be meant.
    public let requestDisambiguationDialog: IntentDialog?
    /// The smallest and the largest value to offer; nil for any.
    public let inclusiveRange: (lowerBound: Value, upperBound: Value)?
    private(set) var value: Value?

    /// A parameter that its caller sets.
    ///
    /// - Parameters:
    ///   - title: the name of the parameter.
    ///   - description: what the parameter is for.
    ///   - value: what it is unless a caller sets it.
    ///   - requestValueDialog: the question to ask if it is missing.
    ///   - requestDisambiguationDialog: the question to ask if several values may be meant.
    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil,
        default value: Value? = nil, requestValueDialog: IntentDialog? = nil,
        requestDisambiguationDialog: IntentDialog? = nil
    ) {
        self.title = title
        self.description = description
        self.value = value
        self.requestValueDialog = requestValueDialog
        self.requestDisambiguationDialog = requestDisambiguationDialog
        inclusiveRange = nil
    }

    /// A number of a range.
    ///
    /// - Parameters:
    ///   - title: the name of the parameter.
    ///   - description: what the parameter is for.
    ///   - value: what it is unless a caller sets it.
    ///   - inclusiveRange: what an interface offers; a caller may set another value.
    ///   - requestValueDialog: the question to ask if it is missing.
    public init(
        title: LocalizedStringResource? = nil, description: LocalizedStringResource? = nil,
        default value: Value? = nil, inclusiveRange: (lowerBound: Value, upperBound: Value),
        requestValueDialog: IntentDialog? = nil
    ) where Value: Comparable {
        self.title = title
        self.description = description
        self.value = value
        self.requestValueDialog = requestValueDialog
        requestDisambiguationDialog = nil
        self.inclusiveRange = inclusiveRange
    }

    /// A parameter without a name.
    public init() { self.init(title: nil) }

    /// Whether it has a value; never for nil.
    public var isSet: Bool { value.map { !isMissing($0) } ?? false }

    /// The value; nil if it is not set and may be nil.
    ///
    /// - Precondition: one that may not be nil was set before it is read; see ``isSet``.
    public var wrappedValue: Value {
        get {
            guard let value = value ?? missingValue() else {
                fatalError("the parameter “\(title?.defaultValue ?? "\(Value.self)")” was read before it was set")
            }
            return value
        }
        set { value = newValue }
    }

    /// The parameter itself.
    public var projectedValue: Self {
        get { self }
        set { self = newValue }
    }
}
