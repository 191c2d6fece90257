#if Service
import Foundation
import Lookalike
import Synchronization

/// Entities that were replaced lately, as they were.
final class UndoCache: Sendable {
    private struct Key: Hashable {
        /// The id of the catalog that is open: a restored one of the same name has other entities.
        let catalog: UUID
        let entity: String
        /// The tag of what took its place.
        let tag: String
    }

    private struct State {
        var copies: [Key: (copy: EntityCopy, expiry: ContinuousClock.Instant)] = [:]
        /// The oldest first.
        var order: [Key] = []
        var byteCount = 0

        mutating func remove(_ key: Key) {
            guard let removed = copies.removeValue(forKey: key) else { return }
            order.removeAll { $0 == key }
            byteCount -= removed.copy.byteCount
        }
    }

    /// How long a copy is kept.
    static let seconds = 600
    private static let mostCopies = 256

    private let mostBytes: Int
    private let state = Mutex(State())

    init(mostBytes: Int) { self.mostBytes = mostBytes }

    /// Keeps what was replaced, in place of the oldest ones.
    ///
    /// - Parameter tag: that of what took its place.
    /// - Returns: whether there is space for it.
    func keep(_ copy: EntityCopy, of id: String, in catalog: ServedCatalog, replacedBy tag: String) -> Bool {
        guard copy.byteCount <= mostBytes / 4 else { return false }
        let key = Key(catalog: catalog.id, entity: id, tag: tag)
        state.withLock { state in
            state.remove(key)
            while let oldest = state.order.first,
                state.order.count >= Self.mostCopies || state.byteCount + copy.byteCount > mostBytes
            {
                state.remove(oldest)
            }
            state.copies[key] = (copy, .now + .seconds(Self.seconds))
            state.order.append(key)
            state.byteCount += copy.byteCount
        }
        return true
    }

    /// What an entity was before another one took its place; nil if that is no longer kept.
    func copy(of id: String, in catalog: ServedCatalog, replacedBy tag: String) -> EntityCopy? {
        let key = Key(catalog: catalog.id, entity: id, tag: tag)
        return state.withLock { state in
            guard let found = state.copies[key], found.expiry > .now else { return nil }
            return found.copy
        }
    }
}
#endif
