/// An entity of a catalog: an album, a product, a landmark.
public struct CatalogEntity: Sendable, Hashable, Codable, Identifiable {
    /// Unique in its catalog; bytes decide. It has no NUL.
    public var id: String
    /// A type of the app's choice, such as `album`.
    public var type: String?
    /// The name to display; searched by text.
    public var title: String?
    /// A second line to display, such as an artist; searched by text.
    public var subtitle: String?
    /// Free labels, to filter by and to search by text.
    public var labels: [String]
    /// The manifest's other columns.
    public var attributes: [String: String]
    /// The path of its image; for one that was indexed from memory, whatever the app likes to keep here.
    public var image: String

    /// An entity with the given metadata.
    public init(
        id: String, type: String? = nil, title: String? = nil, subtitle: String? = nil,
        labels: [String] = [], attributes: [String: String] = [:], image: String = ""
    ) {
        self.id = id
        self.type = type
        self.title = title
        self.subtitle = subtitle
        self.labels = labels
        self.attributes = attributes
        self.image = image
    }

    /// SQLite's text ends at a NUL in some places and not in others.
    var hasNUL: Bool {
        ([id, type, title, subtitle, image].compactMap(\.self) + labels + attributes.flatMap { [$0.key, $0.value] })
            .contains { $0.utf8.contains(0) }
    }

    /// Whether both are stored as the same bytes.
    func isStored(as other: CatalogEntity) -> Bool { exactTexts == other.exactTexts }

    /// The texts of each field, none of one that is absent; then each attribute, in the order of names.
    private var exactTexts: [[ExactText]] {
        [[id, image], [type].compactMap(\.self), [title].compactMap(\.self), [subtitle].compactMap(\.self), labels]
            .map { $0.map(ExactText.init) }
            + attributes.sorted { $0.key < $1.key }.map { [ExactText($0.key), ExactText($0.value)] }
    }
}

/// Text that is the same only if its bytes are.
///
/// Swift's strings are equal if they are canonically equivalent, such as an “é” of one scalar and one of two. SQLite
/// and file systems compare bytes, and so do the ids of entities.
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (a: ExactText, b: ExactText) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
