import ArgumentParser
import CommandProcess
import Lookalike

/// The entities that a command works on. All options have to hold.
struct ConditionOptions: ParsableArguments {
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            """
            Only entities that satisfy a condition, such as 'price < 20 and artist = "Delta Wren"'. Fields are id, \
            type, title, subtitle, label, and attributes by their names. An attribute that no entity has is an error, \
            unless the condition also asks whether it “exists”.
            """,
            valueName: "condition"),
        transform: Self.parse)
    private var conditions: [Condition] = []

    @Option(
        name: .customLong("type"), help: ArgumentHelp("Only entities of this type; repeat it for any of several."))
    private var types: [String] = []

    @Option(
        name: .customLong("label"), help: ArgumentHelp("Only entities with this label; repeat it for all of several."))
    private var labels: [String] = []

    /// Whether none of the options is given.
    var isEmpty: Bool { conditions.isEmpty && types.isEmpty && labels.isEmpty }

    /// All that the options state.
    var condition: Condition {
        let ofTypes = types.isEmpty ? Condition.everything : EntityField.type.isAnyOf(types)
        let stated = conditions.reduce(.everything, &&)
        return labels.reduce(stated && ofTypes) { $0 && EntityField.label.isAnyOf([$1]) }
    }

    private static func parse(_ text: String) throws -> Condition {
        do {
            return try Condition(parsing: text)
        } catch {
            throw ValidationError(error.reason)
        }
    }

    /// Prints a note for each type that no entity has: a mistyped one, or one that no entity has at present.
    func noteUnknownTypes(in catalog: Catalog) async throws {
        for error in try await catalog.unknownTypes(in: condition) { StandardError.print("note: \(error)") }
    }
}
