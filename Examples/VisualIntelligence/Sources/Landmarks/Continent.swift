#if canImport(AppIntents)
    import AppIntents
#else
    import VisualSearchMacros
#endif

public enum Continent: String, AppEnum {
    case africa, america, asia, europe, oceania

    public static let typeDisplayRepresentation: TypeDisplayRepresentation = "Continent"

    public static let caseDisplayRepresentations: [Continent: DisplayRepresentation] = [
        .africa: "Africa",
        .america: "America",
        .asia: DisplayRepresentation(title: "Asia", subtitle: "With the Middle East"),
        .europe: DisplayRepresentation(title: "Europe", image: .init(systemName: "globe.europe.africa")),
        .oceania: DisplayRepresentation(title: "Oceania", image: .init(named: "Reef")),
    ]
}
