import Lookalike
import Synchronization

/// A catalog that is open for searches and changes.
final class ServedCatalog: Sendable {
    let name: CatalogName
    let catalog: Catalog
    let writer: CatalogWriter
    private let known = Mutex<(change: Int, vocabulary: Vocabulary)?>(nil)

    init(name: CatalogName, catalog: Catalog, writer: CatalogWriter) {
        self.name = name
        self.catalog = catalog
        self.writer = writer
    }

    /// What the entities can be filtered by.
    struct Vocabulary: Sendable, Encodable {
        /// Entities per label.
        var labels: [String: Int] = [:]
        /// Entities per attribute.
        var attributes: [String: Int] = [:]
    }

    /// The labels and the names of attributes, counted. O(entities), once per change of the catalog.
    func vocabulary(revision: Int64) async throws -> Vocabulary {
        let change = await writer.changeCount &+ Int(revision)
        if let known = known.withLock({ $0 }), known.change == change { return known.vocabulary }
        let vocabulary = try await catalog.reduceEntities(into: Vocabulary()) { vocabulary, entity in
            for label in Set(entity.labels) { vocabulary.labels[label, default: 0] += 1 }
            for name in entity.attributes.keys { vocabulary.attributes[name, default: 0] += 1 }
        }
        known.withLock { $0 = (change, vocabulary) }
        return vocabulary
    }
}
