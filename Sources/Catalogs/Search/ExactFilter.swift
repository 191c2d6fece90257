/// A filter that is the same only if its bytes are: SQLite compares bytes, too.
struct ExactFilter: Equatable, Sendable {
    private let types: Set<ExactText>?
    private let labels: Set<ExactText>
    private let attributes: [ExactText: Set<ExactText>]

    init(_ filter: CatalogFilter) {
        func exact(_ texts: Set<String>) -> Set<ExactText> { Set(texts.map(ExactText.init)) }
        types = filter.types.map(exact)
        labels = exact(filter.labels)
        attributes = Dictionary(
            filter.attributes.map { (ExactText($0.key), exact($0.value)) }, uniquingKeysWith: { first, _ in first })
    }
}
