#if Service
import Foundation
import Lookalike
import Synchronization

/// Queries that were answered lately, for the next page or other filters without the image.
///
/// A query takes a few kilobytes; it has no pixels.
final class QueryCache: Sendable {
    struct Entry: Sendable {
        /// The id of the catalog that is open: a restored one of the same name has other entities in the verified rows.
        let catalog: UUID
        let query: CatalogQuery
        /// The condition that the verified candidates passed.
        let condition: Condition
        /// The part of the image that was searched.
        let region: ImageRegion?
        let expiry: ContinuousClock.Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The ids of the entries, the oldest first.
        var order: [String] = []
    }

    private let capacity: Int
    private let lifetime: Duration
    private let state = Mutex(State())

    init(capacity: Int = 1024, lifetime: Duration = .seconds(600)) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    /// Keeps a query, and returns its id. An id cannot be guessed.
    func keep(
        _ query: CatalogQuery, of catalog: ServedCatalog, condition: Condition, region: ImageRegion?
    ) -> String {
        let id = UUID().uuidString.lowercased()
        let entry = Entry(
            catalog: catalog.id, query: query.withoutScan, condition: condition, region: region, expiry: .now + lifetime
        )
        state.withLock { state in
            if state.order.count >= capacity { state.entries[state.order.removeFirst()] = nil }
            state.entries[id] = entry
            state.order.append(id)
        }
        return id
    }

    /// The query of an id.
    ///
    /// - Parameter condition: the entities to rank.
    /// - Throws: ``Problem`` if the query is not kept any more, or was analyzed among other entities.
    func entry(_ id: String, of catalog: ServedCatalog, condition: Condition) throws(Problem) -> Entry {
        let found = state.withLock { $0.entries[id] }
        guard let found, found.catalog == catalog.id, found.expiry > .now else {
            throw Problem(.queryExpired, "The query is no longer kept; send the image again.")
        }
        guard found.condition.isEverything || found.condition == condition else {
            throw Problem(
                .queryExpired, "The query was analyzed among other entities; send the image again with this filter.")
        }
        return found
    }
}
#endif
