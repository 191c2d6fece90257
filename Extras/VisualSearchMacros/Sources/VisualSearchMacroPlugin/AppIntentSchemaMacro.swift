#if VisualSearchMacros
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@AppIntent(schema:)` makes the intent's content its parameter, and the intent conform to the schema's protocol.
public struct AppIntentSchemaMacro: MemberAttributeMacro, ExtensionMacro {
    private static let content = "semanticContent"

    private static func followsContentSearch(_ node: AttributeSyntax) -> Bool {
        node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression.trimmedDescription.hasSuffix(
            ".visualIntelligence.semanticContentSearch")
            ?? false
    }

    private static func name(of variable: VariableDeclSyntax) -> String? {
        variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
    }

    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard followsContentSearch(node), let variable = member.as(VariableDeclSyntax.self),
            variable.attributes.isEmpty,
            name(of: variable) == content
        else { return [] }
        return ["@Parameter"]
    }

    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard followsContentSearch(node) else {
            return context.refuse(
                node, "schema", "the one schema there is here is .visualIntelligence.semanticContentSearch")
        }
        let variables = declaration.memberBlock.members.compactMap { $0.decl.as(VariableDeclSyntax.self) }
        guard variables.contains(where: { name(of: $0) == content && $0.bindingSpecifier.text == "var" }) else {
            return context.refuse(
                node, "content", "an intent of this schema has a “var \(content): SemanticContentDescriptor”")
        }
        let made: DeclSyntax = "extension \(type.trimmed): VisualSearch.SemanticContentSearchIntent {}"
        return [made.cast(ExtensionDeclSyntax.self)]
    }
}
#endif
