/// The values of a field, with the number of results that have each.
public struct Facet: Sendable, Hashable, Codable {
    /// A value, and how many results have it.
    public struct Value: Sendable, Hashable, Codable {
        /// The value of the field.
        public let value: String
        /// The number of results with this value.
        public let count: Int

        /// A value with its count.
        public init(value: String, count: Int) { (self.value, self.count) = (value, count) }
    }

    /// The field.
    public let field: EntityField
    /// The most frequent first; ties by name.
    public let values: [Value]

    /// A facet.
    public init(field: EntityField, values: [Value]) { (self.field, self.values) = (field, values) }
}
