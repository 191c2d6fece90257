import AppIntents

/// Opens a landmark. The app's scene shows it after the intent was performed, so there is no `perform()`.
public struct OpenLandmarkIntent: OpenIntent, TargetContentProvidingIntent {
    public static let title: LocalizedStringResource = "Open Landmark"

    @Parameter(title: "Landmark", requestValueDialog: "Which landmark do you want to see?")
    public var target: LandmarkEntity

    public init() {}
}

/// Counts and lists landmarks, with or without the app in front.
public struct FindLandmarksIntent: AppIntent {
    public static let title: LocalizedStringResource = "Find Landmarks"
    public static let description: IntentDescription? = IntentDescription("Finds landmarks on a continent.")
    public static let supportedModes: IntentModes = [.background, .foreground(.dynamic)]

    @Parameter(title: "Continent") public var continent: Continent?
    @Parameter(title: "Count", default: 5, inclusiveRange: (1, 20)) public var count: Int

    @Dependency var modelData: ModelData

    public init() {}

    public static var parameterSummary: some ParameterSummary {
        When(\.$continent, .hasAnyValue) {
            Summary("Find \(\.$count) landmarks on \(\.$continent)")
        } otherwise: {
            Summary("Find landmarks") {
                \.$continent
                \.$count
            }
        }
    }

    public func perform() async throws -> some IntentResult & ReturnsValue<[LandmarkEntity]> & ProvidesDialog {
        let found = Array(modelData.landmarks(on: continent).prefix(count))
        return .result(value: found, dialog: "Found \(found.count) landmarks.")
    }
}

/// Opens one of the landmarks that people like best.
public struct OpenFavoriteIntent: AppIntent {
    public static let title: LocalizedStringResource = "Open a Favorite"

    @Dependency var modelData: ModelData

    public init() {}

    public func perform() async throws -> some IntentResult & OpensIntent {
        var open = OpenLandmarkIntent()
        if let favorite = modelData.favorites.first { open.target = favorite }
        return .result(opensIntent: open)
    }
}

/// The parameters of the widget on the home screen.
public struct LandmarkWidgetIntent: WidgetConfigurationIntent {
    public static let title: LocalizedStringResource = "Landmark of the Day"

    @Parameter(title: "Continent", default: .europe) public var continent: Continent
    @Parameter(title: "Show Hours", default: true) public var showsHours: Bool

    public init() {}

    public static var parameterSummary: some ParameterSummary {
        Switch(\.$continent) {
            Case(.oceania) { Summary("Show islands") }
            DefaultCase {
                Summary("Show \(\.$continent)") {
                    \.$showsHours
                }
            }
        }
    }
}

/// The parameter of the control: the landmark that it opens.
public struct LandmarkControlIntent: ControlConfigurationIntent {
    public static let title: LocalizedStringResource = "Landmark"

    @Parameter(title: "Landmark") public var landmark: LandmarkEntity?

    public init() {}
}

public struct LandmarkShortcuts: AppShortcutsProvider {
    public static var shortcutTileColor: ShortcutTileColor { .navy }

    public static var appShortcuts: [AppShortcut] {
        AppShortcut(
            intent: OpenLandmarkIntent(),
            phrases: ["Open \(\.$target) in \(.applicationName)", "Show \(\.$target) with \(.applicationName)"],
            shortTitle: "Open", systemImageName: "mountain.2")
        AppShortcut(
            intent: FindLandmarksIntent(), phrases: ["Find landmarks in \(.applicationName)"], shortTitle: "Find",
            systemImageName: "magnifyingglass")
    }
}
