import Foundation
import Lookalike
import Synchronization

/// A catalog that is open for searches and changes.
final class ServedCatalog: Sendable {
    let id = UUID()
    let name: CatalogName
    let catalog: Catalog
    let writer: CatalogWriter
    private let known = Mutex<(revision: Revision, vocabulary: Vocabulary)?>(nil)
    /// Entities are counted by one at a time; those who wait find what it counted.
    private let turn = AsyncTurn()

    private struct Revision: Equatable {
        let entities: Int64
        let metadata: Int64
    }

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
    func vocabulary(_ info: CatalogInfo) async throws -> Vocabulary {
        let revision = Revision(entities: info.revision, metadata: info.metadataRevision)
        return try await turn.run {
            if let known = self.known.withLock({ $0 }), known.revision == revision { return known.vocabulary }
            let vocabulary = try await self.catalog.reduceEntities(into: Vocabulary()) { vocabulary, entity in
                for label in Set(entity.labels) { vocabulary.labels[label, default: 0] += 1 }
                for name in entity.attributes.keys { vocabulary.attributes[name, default: 0] += 1 }
            }
            self.known.withLock { $0 = (revision, vocabulary) }
            return vocabulary
        }
    }
}
