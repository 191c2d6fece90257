public import CatalogEntities
public import CatalogSearch
import CatalogStore
import Compute
import FeaturePrints
import LocalFeatures

extension Catalog {
    /// The groups of entities whose images have the same picture: files of other sizes and qualities, crops, and images
    /// with other colors, with a border, with a watermark or a text, turned, or mirrored.
    ///
    /// ```swift
    /// for group in try await catalog.duplicates() {
    ///     print(group.reference.id, group.duplicates.map { "\($0.entity.id): \($0.difference)" })
    /// }
    /// ```
    ///
    /// The entities with the nearest prints, and with most visual words in common, are compared by their stored local
    /// features, and by their thumbnails where one lies over the other; no image is read. Documents of one template
    /// differ where they are filled in, and pictures of one place in what has moved there: these are no duplicates.
    /// Neither are images of one entity, nor is an image that shows less than a fifth of another one. A mirrored copy
    /// is found if it is neither cropped nor framed. In a catalog without local features, and for images with few of
    /// them, prints decide alone: nearly equal ones are taken for copies, which finds fewer and takes some documents of
    /// one template for copies.
    ///
    /// Of copies of covers, photographs and paintings, made in 19 ways, 0.988 are found, 0.945 of these with what was
    /// done to them; of pictures of things on white 0.953 and 0.906 (`Models/training/duplicates.py`).
    ///
    /// - Parameters:
    ///   - condition: the entities to compare; all of them by default.
    ///   - progress: called now and then with the number of entities that are compared, and of those to compare.
    /// - Returns: the groups, in the catalog's order of their first members.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    /// - Complexity: O(entities² · dimension + entities · features²) time, O(entities) memory. Groups of all entities
    ///   are kept in a file; until the catalog changes, they are read again in O(duplicates).
    public func duplicates(
        where condition: Condition = .everything,
        progress: @Sendable (_ compared: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> [DuplicateGroup] {
        try await executor.compute { cancellation in
            let state = try localState()
            if condition.isEverything, let kept = files.duplicates(at: state.revision) {
                return try duplicateGroups(kept, in: state)
            }
            let selection = try state.selection(where: condition, among: nil)
            let total = selection?.rows.reduce(0) { $0 + $1.count } ?? state.imageCount
            // An entity is half done when what to compare it with is found.
            func report(_ share: Double) { progress(Int((share * Double(total)).rounded(.down)), total) }
            var search = DuplicateSearch(state: state, model: extractor?.model, cancellation: cancellation)
            let pairs = try search.candidates(in: selection) { report($0 / 2) }
            try search.join(pairs) { report(0.5 + $0 / 2) }
            let groups = try search.groups()
            try state.check()
            if condition.isEverything { try files.keep(groups, of: state.revision) }
            return try duplicateGroups(groups, in: state)
        }
    }

    /// The groups with their entities, without those that were removed meanwhile.
    private func duplicateGroups(_ groups: [StoredDuplicates], in state: LocalState) throws -> [DuplicateGroup] {
        let entities = try state.entities(for: groups.flatMap { $0.members.map { ImageRow.entity($0.key) } })
        return groups.compactMap { group in
            let members = group.members.dropFirst().compactMap { member in
                entities[ImageRow.entity(member.key)].map {
                    DuplicateGroup.Member(
                        entity: $0.entity, difference: member.difference, distance: Double(member.distance))
                }
            }
            guard let first = group.members.first, let reference = entities[ImageRow.entity(first.key)],
                !members.isEmpty
            else {
                return nil
            }
            return DuplicateGroup(reference: reference.entity, duplicates: members)
        }
    }
}

/// A match of a search, with the matches that have the same picture.
public struct MatchGroup: Sendable, Hashable, Codable {
    /// The surest match.
    public let match: CatalogMatch
    /// The others, surest first.
    public let duplicates: [CatalogMatch]

    /// A group.
    public init(match: CatalogMatch, duplicates: [CatalogMatch]) {
        (self.match, self.duplicates) = (match, duplicates)
    }
}

extension Catalog {
    /// Folds matches whose images have the same picture, as ``duplicates(where:progress:)`` groups them, into the
    /// surest of each.
    ///
    /// ```swift
    /// for group in try await catalog.grouped(catalog.search(matching: photo)) {
    ///     print(group.match.id, "and \(group.duplicates.count) more with the same picture")
    /// }
    /// ```
    ///
    /// - Parameter matches: the matches of one search of this catalog, surest first.
    /// - Returns: the groups, in the order of their surest matches. A match whose entity was removed meanwhile is
    ///   alone.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, and `CancellationError`.
    /// - Complexity: O(matches · groups · features²); O(matches + duplicates) if the groups of the catalog are kept.
    public func grouped(_ matches: [CatalogMatch]) async throws -> [MatchGroup] {
        try await executor.compute { cancellation in
            let state = try localState()
            let groups: [[Int]]
            if let kept = files.duplicates(at: state.revision) {
                groups = Self.fold(matches, by: kept)
            } else {
                let search = DuplicateSearch(state: state, model: extractor?.model, cancellation: cancellation)
                groups = try search.fold(
                    matches.map { state.matrix.row(withKey: ImageRow.row(of: $0.key, place: $0.imageIndex)) })
            }
            try state.check()
            return groups.map { indices in
                MatchGroup(match: matches[indices[0]], duplicates: indices.dropFirst().map { matches[$0] })
            }
        }
    }

    /// The matches of a query. Folded, the limit is the number of groups: `shown` has the surest of each, and
    /// `duplicates` the ids of the others by its row.
    package func matches(
        of query: CatalogQuery, options: SearchOptions, areFolded: Bool
    ) async throws -> (shown: [CatalogMatch], all: [CatalogMatch], duplicates: [Int64: [String]]?) {
        var wider = options
        while true {
            let matches = try await search(query, options: wider)
            guard areFolded, options.limit > 0 else { return (matches, matches, areFolded ? [:] : nil) }
            let groups = try await grouped(matches)
            // Copies of what is shown may follow as long as matches are likely.
            let isLikely = (matches.last?.confidence ?? 0) >= MatchBounds.accepted.minConfidence
            if matches.count < wider.limit || groups.count > options.limit && !isLikely {
                let shown = groups.prefix(options.limit)
                return (
                    shown.map(\.match), shown.flatMap { [$0.match] + $0.duplicates },
                    Dictionary(
                        shown.map { ($0.match.key, $0.duplicates.map(\.id)) }, uniquingKeysWith: { first, _ in first })
                )
            }
            wider.limit *= 4
        }
    }

    /// The positions of matches, each with the first one of its group.
    private static func fold(_ matches: [CatalogMatch], by groups: [StoredDuplicates]) -> [[Int]] {
        var (numbers, ofEntities) = ([Int64: Int](), [Int64: Int]())
        for (number, group) in groups.enumerated() {
            for member in group.members {
                numbers[member.key] = number
                // Of a group that has the same entities as one before, the images are not kept.
                let entity = ImageRow.entity(member.key)
                ofEntities[entity] = ofEntities[entity] ?? number
            }
        }
        var positions: [Int: Int] = [:]
        var folded: [[Int]] = []
        for (index, match) in matches.enumerated() {
            let number = numbers[ImageRow.row(of: match.key, place: match.imageIndex)] ?? ofEntities[match.key]
            if let position = number.flatMap({ positions[$0] }) {
                folded[position].append(index)
            } else {
                if let number { positions[number] = folded.count }
                folded.append([index])
            }
        }
        return folded
    }
}
