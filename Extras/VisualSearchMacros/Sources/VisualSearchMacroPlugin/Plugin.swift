import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct VisualSearchMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [UnionValueMacro.self, AppIntentSchemaMacro.self]
}
