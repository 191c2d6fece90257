import SwiftDiagnostics

/// Why a macro cannot be applied to a declaration.
struct MacroProblem: DiagnosticMessage, Error {
    let message: String
    let name: String
    var diagnosticID: MessageID { MessageID(domain: "VisualSearch", id: name) }
    var severity: DiagnosticSeverity { .error }
}
