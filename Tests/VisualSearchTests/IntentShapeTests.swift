import AppleShapes
import Testing
import VisualSearch

// No other import: the names that handlers need come with the module.

private enum Genre: String, AppEnum, Decodable {
    case ambient, jazz, noise

    static let typeDisplayRepresentation: TypeDisplayRepresentation = "Genre"
    static let caseDisplayRepresentations: [Genre: DisplayRepresentation] = [
        .ambient: DisplayRepresentation(title: "Ambient", image: .init(named: "Fog")),
        .jazz: DisplayRepresentation(title: "Jazz", image: .init(systemName: "music.note")),
    ]
}

private struct Record: IndexedEntity {
    var id: String
    @Property(title: "Name") var name: String
    @Property var producer: String?
    var cover = Data([1, 2, 3])

    var displayRepresentation: DisplayRepresentation {
        DisplayRepresentation(
            title: LocalizedStringResource(name, translations: ["ja": "記録"]), subtitle: "\(producer ?? "nobody")",
            image: .init(data: cover))
    }
    static let defaultQuery = RecordQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Record" }

    init(id: String, name: String) {
        self.id = id
        self.name = name
    }
}

private struct RecordQuery: EntityQuery {
    func entities(for identifiers: [String]) async throws -> [Record] {
        identifiers.map { Record(id: $0, name: "Record \($0)") }
    }
}

/// An open intent without a `perform()`.
private struct OpenRecordIntent: OpenIntent {
    static let title: LocalizedStringResource = "Open Record"
    @Parameter(title: "Record", requestValueDialog: "Which record?") var target: Record
}

private struct FindRecordsIntent: AppIntent {
    static let title: LocalizedStringResource = "Find Records"
    static let description: IntentDescription? = IntentDescription("Finds records.")
    static let supportedModes: IntentModes = [.background, .foreground(.dynamic)]

    @Parameter(title: "Genre") var genre: Genre?
    @Parameter(title: "Count", default: 2, inclusiveRange: (1, 10)) var count: Int
    @Parameter(title: "Artist") var artist: String
    @Parameter var note: String?

    static var parameterSummary: some ParameterSummary {
        When(\.$genre, .hasAnyValue) {
            Switch(\.$genre) {
                Case(.jazz) { Summary("Find \(\.$count) jazz records") }
                Case([.ambient, .noise]) { Summary("Find \(\.$count) quiet or loud records") }
                DefaultCase { Summary("Find \(\.$genre)") }
            }
        } otherwise: {
            Summary("Find \(\.$count) records") {
                \.$genre
                \.$artist
            }
        }
    }

    func perform() async throws -> some IntentResult & ReturnsValue<[String]> & ProvidesDialog {
        .result(value: (0..<count).map { "\($0)" }, dialog: "Found \(count) records")
    }
}

private struct OpenFirstIntent: AppIntent {
    static let title: LocalizedStringResource = "Open First"
    static let openAppWhenRun = true

    static var parameterSummary: some ParameterSummary {
        Summary {
            \.$strict
        }
    }
    @Parameter(title: "Strict", default: true) var strict: Bool

    func perform() async throws -> some IntentResult & OpensIntent {
        var next = OpenRecordIntent()
        next.target = Record(id: "first", name: "First")
        return .result(opensIntent: next)
    }
}

private struct ShelfConfiguration: WidgetConfigurationIntent {
    static let title: LocalizedStringResource = "Shelf"
    @Parameter(title: "Record") var record: Record?
    static var parameterSummary: some ParameterSummary {
        When(\.$record, .hasNoValue) {
            Summary("Show a record")
        } otherwise: {
            Summary("Show \(\.$record)")
        }
    }
}

private struct PlayerConfiguration: ControlConfigurationIntent {
    static let title: LocalizedStringResource = "Player"
    @Parameter(title: "Genre", default: .ambient) var genre: Genre
    static var parameterSummary: some ParameterSummary {
        When(\.$genre, .equalTo, .ambient) {
            Summary("Play quietly")
        } otherwise: {
            Summary("Play \(\.$genre)")
        }
    }
}

private struct RecordShortcuts: AppShortcutsProvider {
    static let shortcutTileColor = ShortcutTileColor.teal
    static var appShortcuts: [AppShortcut] {
        AppShortcut(
            intent: OpenRecordIntent(),
            phrases: ["Open \(\.$target) in \(.applicationName)", "Show \(\.$target)"], shortTitle: "Open",
            systemImageName: "record.circle")
        AppShortcut(
            intent: FindRecordsIntent(), phrases: ["Find in \(.applicationName)"], shortTitle: "Find",
            systemImageName: "magnifyingglass")
    }
}

struct IntentShapeTests {
    @Test func whatWasNotSetIsNilWhereItCanBe() {
        var record = Record(id: "1", name: "One")
        #expect(record.producer == nil)
        record.producer = "Ada"
        #expect(record.producer == "Ada")
        var intent = FindRecordsIntent()
        #expect(intent.genre == nil && intent.note == nil && !intent.$genre.isSet)
        intent.genre = .jazz
        #expect(intent.genre == .jazz && intent.$genre.isSet)
        intent.genre = nil
        #expect(intent.genre == nil && !intent.$genre.isSet && intent.$count.isSet && !intent.$artist.isSet)
    }

    #if compiler(>=6.2)
    /// The message has to exist in release builds as well.
    @Test func whatIsMissingIsNamedWhenItIsRead() async {
        let dependency = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            struct Reader: EntityQuery {
                @Dependency(key: "shelf") var shelf: [String]
                func entities(for identifiers: [String]) async throws -> [Record] {
                    shelf.map { Record(id: $0, name: $0) }
                }
            }
            _ = try? await Reader().entities(for: [])
        }
        func expect(_ words: String, in content: [UInt8]?) {
            let found = String(decoding: content ?? [], as: UTF8.self)
            #expect(found.contains(words), "\(found)")
        }
        expect("no Array<String> with the key “shelf” was registered", in: dependency?.standardErrorContent)
        let parameter = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(FindRecordsIntent().artist)
        }
        expect("the parameter “Artist” was read before it was set", in: parameter?.standardErrorContent)
        let property = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            struct Unset {
                @EntityProperty(title: "Name") var name: String
            }
            print(Unset().name)
        }
        expect("the property “Name” of type String was read before", in: property?.standardErrorContent)
    }
    #endif

    @Test func anOpenIntentNeedsNoPerform() async throws {
        let intents = OpenIntents()
        let opened = AsyncStream.makeStream(of: String.self)
        intents.register(OpenRecordIntent.self) { opened.continuation.yield($0.target.name) }
        try await intents.open(Record.self, id: "7")
        opened.continuation.finish()
        #expect(await opened.stream.reduce(into: []) { $0.append($1) } == ["Record 7"])
        intents.register(OpenRecordIntent.self)
        try await intents.open(Record(id: "8", name: "Eight"))
        #expect(OpenRecordIntent().$target.requestValueDialog?.full == "Which record?")
    }

    @Test func resultsHaveValuesDialogsAndNextIntents() async throws {
        var find = FindRecordsIntent()
        find.count = 3
        let found = try await find.perform()
        #expect(found.value == ["0", "1", "2"] && found.dialog?.full == "Found 3 records" && found.nextIntent == nil)
        let opened = try await OpenFirstIntent().perform()
        #expect((opened.nextIntent as? OpenRecordIntent)?.target.id == "first")
        #expect(opened.value == nil && opened.dialog == nil)
    }

    @Test func parametersAreCheckedBeforeAnIntentIsPerformed() async throws {
        let intents = OpenIntents()
        func refusal(of intent: some AppIntent) async -> IntentParameterError? {
            await #expect(throws: IntentParameterError.self) { _ = try await intents.perform(intent) }
        }
        var find = FindRecordsIntent()
        let missing = await refusal(of: find)
        #expect(missing?.parameter == "Artist" && missing?.reason == .missing(question: nil))
        find.artist = "Ada"
        for count in [0, 11] {
            find.count = count
            let error = try #require(await refusal(of: find))
            #expect(error.reason == .outOfRange("\(count)") && "\(error)".contains("\(count) for “Count”"))
        }
        for count in [1, 10] {
            find.count = count
            #expect(try await intents.perform(find).value?.count == count)
        }
        let open = await refusal(of: OpenRecordIntent())
        #expect(open.map { "\($0)" } == "OpenRecordIntent needs a value for “Record”: Which record?")
    }

    @Test func theNextIntentIsPerformedWithTheAppInFront() async throws {
        let events = AsyncStream.makeStream(of: String.self)
        let intents = OpenIntents { events.continuation.yield("front") }
        intents.register(OpenRecordIntent.self) { events.continuation.yield($0.target.id) }
        var find = FindRecordsIntent()
        find.artist = "Ada"
        #expect(try await intents.perform(find).dialog?.full == "Found 2 records")
        #expect(try await intents.perform(OpenFirstIntent()).nextIntent is OpenRecordIntent)
        events.continuation.finish()
        #expect(await events.stream.reduce(into: []) { $0.append($1) } == ["front", "front", "first"])
    }

    @Test func modesFollowFromOpeningTheApp() {
        #expect(FindRecordsIntent.supportedModes == [.foreground(.dynamic), .background])
        #expect(OpenFirstIntent.supportedModes == .foreground && ShelfConfiguration.supportedModes == .background)
        #expect(OpenRecordIntent.supportedModes == .foreground(.immediate))
        #expect(FindRecordsIntent.description?.text == "Finds records." && OpenFirstIntent.description == nil)
    }

    @Test func sentencesDependOnParameters() {
        var intent = FindRecordsIntent()
        func sentence() -> ParameterSentence { FindRecordsIntent.parameterSummary.sentence(for: intent) }
        #expect(FindRecordsIntent.parameterSummary.text == "Find ${Count} records")
        #expect(sentence().furtherParameters == ["Genre", "Artist"])
        for (genre, text) in [
            (Genre.jazz, "Find ${Count} jazz records"), (.ambient, "Find ${Count} quiet or loud records"),
        ] {
            intent.genre = genre
            #expect(sentence().text == text && sentence().furtherParameters.isEmpty)
        }
        #expect(OpenFirstIntent.parameterSummary.sentence(for: nil).furtherParameters == ["Strict"])
        var shelf = ShelfConfiguration()
        #expect(ShelfConfiguration.parameterSummary.sentence(for: shelf).text == "Show a record")
        shelf.record = Record(id: "1", name: "One")
        #expect(ShelfConfiguration.parameterSummary.sentence(for: shelf).text == "Show ${Record}")
        var player = PlayerConfiguration()
        #expect(PlayerConfiguration.parameterSummary.sentence(for: player).text == "Play quietly")
        player.genre = .noise
        #expect(PlayerConfiguration.parameterSummary.sentence(for: player).text == "Play ${Genre}")
    }

    @Test func configurationIntentsNeedNoPerform() async throws {
        #expect(try await ShelfConfiguration().perform().value == nil)
        #expect(try await PlayerConfiguration().perform().value == nil && PlayerConfiguration().genre == .ambient)
    }

    @Test func phrasesHaveTheAppAndParameters() {
        let phrases = RecordShortcuts.appShortcuts.map(\.phrases)
        #expect(phrases.map(\.count) == [2, 1] && RecordShortcuts.shortcutTileColor == .teal)
        let open = phrases[0][0]
        #expect(open.text == "Open ${Record} in ${applicationName}")
        #expect(
            open.spoken(applicationName: "Crates ${Record}", parameters: ["Record": "One"])
                == "Open One in Crates ${Record}")
        #expect(open.spoken(applicationName: "Crates") == "Open ${Record} in Crates")
    }

    @Test func casesAndPicturesHaveNames() throws {
        #expect(Genre.allCases.map { $0.localizedStringResource.localized() } == ["Ambient", "Jazz", "noise"])
        let image = try #require(Genre.jazz.displayRepresentation.image)
        #expect(image.systemName == "music.note" && image.name == nil && image.data == nil)
        let named = try #require(Genre.ambient.displayRepresentation.image)
        #expect(named.name == "Fog" && named.systemName == nil)
        #expect(try JSONDecoder().decode(DisplayRepresentation.Image.self, from: JSONEncoder().encode(named)) == named)
    }

    @Test func anIndexedEntityIsAnItemOfItsDisplay() throws {
        let item = try #require(IndexItem(indexing: Record(id: "1", name: "One"), type: "record"))
        guard case .data(Data([1, 2, 3]))? = item.images.first else {
            Issue.record("\(item.images)")
            return
        }
        let row = CatalogRow(entity: item.entity)
        #expect(row.id == "1" && row.entity.type == "record" && row.subtitle?.localized(for: []) == "nobody")
        #expect(row.title?.localized(for: ["en"]) == "One" && row.title?.localized(for: ["ja"]) == "記録")
    }

    @Test func oneImportSuffices() throws {
        // The names come from Foundation, from the engine and from this module.
        let pixels = try PixelBuffer([UInt8](repeating: 9, count: 12), width: 2, height: 2, format: .rgb8)
        let content = SemanticContentDescriptor(pixelBuffer: pixels)
        #expect(content.pixelBuffer?.width == 2 && Date(timeIntervalSince1970: 0) < Date.now)
        let error = #expect(throws: CatalogError.self) { try Catalog(at: URL(fileURLWithPath: "/nowhere")) }
        #expect(error != nil)
    }
}
