import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@UnionValue`: the entity of whichever case an enumeration has.
public struct UnionValueMacro: ExtensionMacro {
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let enumeration = declaration.as(EnumDeclSyntax.self) else {
            context.diagnose(
                Diagnostic(
                    node: node,
                    message: MacroProblem(message: "@UnionValue belongs on an enumeration", name: "enumeration")))
            return []
        }
        let cases = enumeration.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap(
            \.elements)
        guard !cases.isEmpty else {
            context.diagnose(
                Diagnostic(
                    node: node,
                    message: MacroProblem(
                        message: "@UnionValue needs cases, one for each kind of entity", name: "cases")))
            return []
        }
        var arms: [String] = []
        var types: [String] = []
        for element in cases {
            guard let parameters = element.parameterClause?.parameters, parameters.count == 1,
                let parameter = parameters.first
            else {
                let message = "the case “\(element.name.text)” needs one value, an entity"
                context.diagnose(Diagnostic(node: element, message: MacroProblem(message: message, name: "value")))
                return []
            }
            arms.append("case .\(element.name.trimmed)(let entity): entity")
            types.append("\(parameter.type.trimmed).self")
        }
        let access =
            declaration.modifiers.first { ["public", "package"].contains($0.name.text) }.map { "\($0.name.text) " }
            ?? ""
        let made: DeclSyntax = """
            extension \(type.trimmed): VisualSearch.UnionValueProtocol {
                \(raw: access)var entity: any VisualSearch.AppEntity {
                    switch self {
                    \(raw: arms.joined(separator: "\n"))
                    }
                }
                \(raw: access)static var entityTypes: [any VisualSearch.AppEntity.Type] {
                    [\(raw: types.joined(separator: ", "))]
                }
            }
            """
        return [made.cast(ExtensionDeclSyntax.self)]
    }
}
