/// A fixed choice that people see: the cases of an enumeration, each with a name.
///
/// ```swift
/// enum Genre: String, AppEnum {
///     case ambient, jazz
///     static let typeDisplayRepresentation: TypeDisplayRepresentation = "Genre"
///     static let caseDisplayRepresentations: [Genre: DisplayRepresentation] = [.ambient: "Ambient", .jazz: "Jazz"]
/// }
/// ```
public protocol AppEnum: RawRepresentable, CaseIterable, Hashable, TypeDisplayRepresentable,
    InstanceDisplayRepresentable, Sendable
where RawValue: LosslessStringConvertible {
    /// How each case is displayed.
    static var caseDisplayRepresentations: [Self: DisplayRepresentation] { get }
}

extension AppEnum {
    /// A case without a representation shows its raw value.
    public var displayRepresentation: DisplayRepresentation {
        Self.caseDisplayRepresentations[self] ?? DisplayRepresentation(title: "\(rawValue)")
    }

    /// The name of the case.
    public var localizedStringResource: LocalizedStringResource { displayRepresentation.title }
}
