#if VisualSearchMacros
@_exported import VisualSearch

/// Makes an enumeration of entities the result of a query that finds several types of them.
///
/// Every case has one value, an `AppEntity`:
///
/// ```swift
/// @UnionValue
/// enum VisualSearchResult {
///     case album(AlbumEntity)
///     case concert(ConcertEntity)
/// }
/// ```
@attached(extension, conformances: UnionValueProtocol, names: named(entity), named(entityTypes))
public macro UnionValue() = #externalMacro(module: "VisualSearchMacroPlugin", type: "UnionValueMacro")

/// Makes an intent follow a schema.
///
/// The schema `.visualIntelligence.semanticContentSearch` makes the intent's `semanticContent` its parameter, which is
/// set to the captured content before the intent is performed.
@attached(memberAttribute)
@attached(extension, conformances: SemanticContentSearchIntent)
public macro AppIntent(schema: AssistantSchema) =
    #externalMacro(module: "VisualSearchMacroPlugin", type: "AppIntentSchemaMacro")
#endif
