#if VisualSearchMacros
import SwiftCompilerPlugin
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

@main
struct VisualSearchMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [UnionValueMacro.self, AppIntentSchemaMacro.self]
}

/// Why a macro cannot be applied to a declaration.
private struct MacroProblem: DiagnosticMessage {
    let message: String
    let name: String
    var diagnosticID: MessageID { MessageID(domain: "VisualSearch", id: name) }
    var severity: DiagnosticSeverity { .error }
}

extension MacroExpansionContext {
    /// Reports why a macro cannot be applied, and expands it to nothing.
    func refuse(_ node: some SyntaxProtocol, _ name: String, _ message: String) -> [ExtensionDeclSyntax] {
        diagnose(Diagnostic(node: node, message: MacroProblem(message: message, name: name)))
        return []
    }
}
#else
/// A build of everything links the plugin, which expands nothing without its trait.
@main
enum VisualSearchMacroPlugin {
    static func main() {}
}
#endif
