package import CatalogEntities
package import Compute
package import FeaturePrints
import Foundation
package import Imaging
package import LocalFeatures
import Synchronization
import VectorSearch

/// A catalog elsewhere, for one step of a search. Prints that were received are kept for it.
///
/// Distances are computed here, with the kernels of a local search: those of a database differ in the last bits, and
/// would change the order of ties.
package final class RemoteState: CatalogState {
    private let remote: any RemoteCatalog
    private let counts: RemoteCounts
    private let model: FeaturePrintModel
    private let known = Mutex<[Int64: [Float]]>([:])

    /// Images beyond those that are needed, which rounding might put in the wrong order at the end of a list.
    private static let surplus = 8

    package init(_ remote: any RemoteCatalog, counts: RemoteCounts, model: FeaturePrintModel) {
        (self.remote, self.counts, self.model) = (remote, counts, model)
    }

    /// Rows keep their meaning as long as the catalog is open.
    package let revision = CatalogRevision(
        number: 0, token: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    package var entityCount: Int { counts.entities }
    package var imageCount: Int { counts.images }

    package func selection(where condition: Condition, among keys: KeySelection?) -> EntitySelection? {
        condition.isEverything && keys == nil ? nil : EntitySelection(condition: condition, keys: keys, rows: [])
    }

    package func thumbnails(of keys: [Int64]) async throws -> [Int64: PixelBuffer] {
        guard !keys.isEmpty else { return [:] }
        return try await remote.thumbnails(of: keys).compactMapValues { try? PixelBuffer(decoding: $0) }
    }

    package func selected(_ keys: [Int64], in selection: EntitySelection?) async throws -> Set<Int64> {
        try await remote.selected(keys, in: remoteSelection(selection))
    }

    package func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: EntitySelection?, after last: RankingPlace?,
        recall: Double, cancellation: Cancellation
    ) async throws -> [NearImage] {
        let selection = remoteSelection(selection)
        var asked = count + Self.surplus
        while true {
            let found = try await remote.nearest(asked, to: prints, in: selection)
            try cancellation.check()
            known.withLock { $0.merge(found) { $1 } }
            var near = squaredDistances(of: found, to: prints).map { NearImage(key: $0.key, squaredDistance: $0.value) }
                .sorted { ($0.squaredDistance, $0.key) < ($1.squaredDistance, $1.key) }
            let isComplete = found.count < asked
            // The nearest of each print are found. Of what is found, those beyond as many are not the nearest of all.
            if !isComplete { near.removeLast(max(0, near.count - asked)) }
            if let last {
                near.removeAll { ($0.squaredDistance, $0.entity) <= (last.squaredDistance, last.entity) }
            }
            if isComplete || near.count >= count + Self.surplus / 2 { return Array(near.prefix(count)) }
            asked *= 4
        }
    }

    package func siblings(of entities: [Int64]) async throws -> [Int64] {
        guard entityCount < imageCount, !entities.isEmpty else { return [] }
        let images = try await remote.images(ofEntities: entities)
        return Dictionary(grouping: images, by: ImageRow.entity).values.filter { $0.count > 1 }.flatMap(\.self)
    }

    package func squaredDistances(of keys: [Int64], to prints: [FeaturePrint]) async throws -> [Int64: Float] {
        squaredDistances(of: try await self.prints(of: keys), to: prints)
    }

    package func prints(of keys: [Int64]) async throws -> [Int64: [Float]] {
        var present: [Int64: [Float]] = [:]
        known.withLock { known in
            for key in keys { present[key] = known[key] }
        }
        let missing = keys.filter { present[$0] == nil }
        guard !missing.isEmpty else { return present }
        let fetched = try await remote.prints(of: missing)
        known.withLock { $0.merge(fetched) { $1 } }
        return present.merging(fetched) { $1 }
    }

    /// - Parameter vectors: those of another dimension are ignored.
    private func squaredDistances(of vectors: [Int64: [Float]], to prints: [FeaturePrint]) -> [Int64: Float] {
        let dimension = model.dimension
        let rows = vectors.filter { $0.value.count == dimension && $0.value.allSatisfy(\.isFinite) }
            .sorted { $0.key < $1.key }
        guard !rows.isEmpty, !prints.isEmpty else { return [:] }
        let matrix = PrintMatrix(rows.flatMap(\.value), dimension: dimension)
        return ExactSearch(matrix).nearest(toAnyOf: prints.map(\.vector), k: rows.count)
            .reduce(into: [:]) { $0[rows[$1.row].key] = $1.squaredDistance }
    }

    package func mostVotedImages(
        _ count: Int, by query: LocalFeatureQuery, in selection: EntitySelection?, without excluded: Set<Int64>
    ) async throws -> [Int64] {
        var selection = remoteSelection(selection)
        selection.excluded = Set(selection.excluded).union(excluded).sorted()
        return try await remote.mostVoted(count, by: query.words.visualWords, in: selection)
    }

    package func localFeatures(of keys: [Int64]) async throws -> [(key: Int64, features: LocalFeatures)] {
        guard !keys.isEmpty else { return [] }
        return try await remote.localFeatures(of: keys).compactMap { key, data in
            LocalFeatures(encoded: data).map { (key, $0) }
        }.sorted { $0.key < $1.key }
    }

    /// A catalog elsewhere has no index of words.
    package func entities(namedBy texts: ReadTexts, check: () throws -> Void) -> [Int64: Double] { [:] }

    /// A match is judged by what was read for it.
    package func keys(changedSince revisions: [Int64: Int64]) -> Set<Int64> { [] }

    package func entities(for rows: [Int64]) async throws -> [Int64: StoredEntity] {
        guard !rows.isEmpty else { return [:] }
        return try await remote.entities(for: rows).reduce(into: [:]) {
            $0[$1.key] = StoredEntity(entity: $1.value, key: $1.key, thumbnail: nil)
        }
    }

    package func check() {}

    private func remoteSelection(_ selection: EntitySelection?) -> RemoteSelection {
        let condition = selection?.condition ?? .everything
        return switch selection?.keys {
        case .only(let rows)?: RemoteSelection(condition, only: rows)
        case .allBut(let rows)?: RemoteSelection(condition, excluded: rows)
        case nil: RemoteSelection(condition)
        }
    }
}
