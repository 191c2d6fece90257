#if VisualSearchMacros
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@UnionValue` makes an enumeration give the entity of whichever case it has.
public struct UnionValueMacro: ExtensionMacro {
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let enumeration = declaration.as(EnumDeclSyntax.self) else {
            return context.refuse(node, "enumeration", "@UnionValue belongs on an enumeration")
        }
        let cases = enumeration.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap(
            \.elements)
        guard !cases.isEmpty else {
            return context.refuse(node, "cases", "@UnionValue needs cases, one for each kind of entity")
        }
        var arms: [String] = []
        var types: [String] = []
        for element in cases {
            guard let parameters = element.parameterClause?.parameters, parameters.count == 1,
                let parameter = parameters.first
            else {
                return context.refuse(element, "value", "the case “\(element.name.text)” needs one value, an entity")
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
#endif
