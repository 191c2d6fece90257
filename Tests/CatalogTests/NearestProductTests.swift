import Catalogs
import Compute
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Searches by prints, with all that they can be combined with, against a comparison of all prints: how the catalog
/// finds the nearest, filters that go with what a query resembles and others, limits, removed entities, entities of
/// several images, pages, and searches at once.
struct NearestProductTests {
    enum Filter: String, CaseIterable, Sendable {
        case none, third, twentieth, twoHundredth, sameCluster, otherCluster, allButTheCluster

        func condition(cluster: Int) -> Condition {
            let chance = EntityField.attribute("chance")
            func isCluster(_ cluster: Int) -> Condition { EntityField.type.isAnyOf(["cluster \(cluster)"]) }
            return switch self {
            case .none: .everything
            case .third: chance < 0.3
            case .twentieth: chance < 0.05
            case .twoHundredth: chance < 0.005
            case .sameCluster: isCluster(cluster)
            case .otherCluster: isCluster((cluster + 1) % 3)
            case .allButTheCluster: !isCluster(cluster)
            }
        }

        func allows(_ entity: Prints.Entity, cluster: Int) -> Bool {
            switch self {
            case .none: true
            case .third: entity.chance < 0.3
            case .twentieth: entity.chance < 0.05
            case .twoHundredth: entity.chance < 0.005
            case .sameCluster: entity.cluster == cluster
            case .otherCluster: entity.cluster == (cluster + 1) % 3
            case .allButTheCluster: entity.cluster != cluster
            }
        }
    }

    /// A catalog of prints in three clusters of clusters.
    struct Prints: Sendable {
        struct Entity: Sendable {
            let id: String
            let cluster: Int
            let chance: Double
            /// Those of its images.
            let vectors: [[Float]]
        }

        static let (seed, count, queryCount): (UInt64, Int, Int) = (20_262, 6000, 200)

        let folder: TemporaryFolder
        let model: FeaturePrintModel
        private(set) var entities: [Entity] = []
        private(set) var queries: [(vector: [Float], cluster: Int)] = []

        init() throws {
            folder = try TemporaryFolder()
            let indexer = try CatalogIndexer(at: folder.file("catalog"), thumbnailSide: nil, localFeatures: false)
            model = indexer.model
            let dimension = model.dimension
            var random = SeededGenerator(seed: Self.seed)
            func near(_ center: [Float], _ spread: Float) -> [Float] {
                let vector = zip(center, random.floats(dimension)).map { $0 + spread * $1 }
                let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
                return vector.map { $0 / norm }
            }
            let none = [Float](repeating: 0, count: dimension)
            let inner = (0..<3).map { _ in
                let center = near(none, 1)
                return (0..<40).map { _ in near(center, 0.08) }
            }
            for index in 0..<Self.count {
                let cluster = Int.random(in: 0..<3, using: &random)
                // Every fifth has images that resemble each other and others that do not, from all clusters.
                var centers = [inner[cluster][Int.random(in: 0..<40, using: &random)]]
                if index % 5 == 0 {
                    let others = (0..<3).map { inner[$0][Int.random(in: 0..<40, using: &random)] }
                    centers += [centers[0]] + others
                }
                entities.append(
                    Entity(
                        id: "e\(index)", cluster: cluster, chance: Double.random(in: 0..<1, using: &random),
                        vectors: centers.map { near($0, 0.05) }))
            }
            for query in 0..<Self.queryCount {
                let entity = entities[Int.random(in: 0..<Self.count, using: &random)]
                let image = entity.vectors.randomElement(using: &random) ?? none
                queries.append((query % 4 == 3 ? near(none, 1) : near(image, 0.04), entity.cluster))
            }
            let report = try indexer.index(
                entities.map {
                    IndexItem(
                        CatalogEntity(id: $0.id, type: "cluster \($0.cluster)", attributes: ["chance": "\($0.chance)"]),
                        images: $0.vectors.map { .print(print($0)) })
                })
            try #require(report.added == Self.count)
        }

        func print(_ vector: [Float]) -> FeaturePrint { FeaturePrint(vector: vector, model: model.identity) }

        func indexer() throws -> CatalogIndexer { try CatalogIndexer(at: folder.file("catalog"), localFeatures: false) }

        mutating func remove(where isRemoved: (Int) -> Bool) throws {
            let removed = entities.indices.filter(isRemoved)
            try indexer().removeAll(removed.map { entities[$0].id })
            entities = entities.indices.filter { !isRemoved($0) }.map { entities[$0] }
        }

        /// The distances of all entities to each query, in double precision, by prints as the catalog rounds them.
        var distances: [[Double]] {
            concurrentMap(queries.count, threads: 2) { query in
                let query = self.print(queries[query].vector).vector
                return entities.map { entity in
                    let sums = entity.vectors.map { vector in
                        let vector = self.print(vector).vector
                        var sum = 0.0
                        for index in vector.indices {
                            let difference = Double(vector[index]) - Double(query[index])
                            sum += difference * difference
                        }
                        return sum
                    }
                    return (sums.min() ?? .infinity).squareRoot()
                }
            }
        }
    }

    /// Every cell of filter and limit, searches in groups of tasks.
    private static func check(_ catalog: Catalog, _ prints: Prints, _ name: String, least: Double) async throws {
        let distances = prints.distances
        let places = Dictionary(uniqueKeysWithValues: prints.entities.enumerated().map { ($1.id, $0) })
        for filter in Filter.allCases {
            let allowed = prints.queries.indices.map { query in
                prints.entities.indices.filter {
                    filter.allows(prints.entities[$0], cluster: prints.queries[query].cluster)
                }
            }
            for limit in [1, 10, 100, 1000, .max] {
                let count = limit > 100 ? 8 : Prints.queryCount
                let found = try await withThrowingTaskGroup(of: (Int, [CatalogMatch]).self) { group in
                    for query in 0..<count {
                        group.addTask {
                            let (vector, cluster) = prints.queries[query]
                            let options = SearchOptions(
                                limit: limit, bounds: .none, condition: filter.condition(cluster: cluster),
                                recall: 0.99)
                            return (
                                query,
                                try await catalog.search(catalog.query(for: [prints.print(vector)]), options: options)
                            )
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                var recall = 0.0
                for (query, matches) in found {
                    let rows = matches.compactMap { places[$0.id] }
                    let sorted = allowed[query].map { distances[query][$0] }.sorted()
                    let isWhole =
                        rows.count == min(limit, sorted.count) && Set(rows).count == rows.count
                        && Set(rows).isSubset(of: allowed[query])
                        && zip(matches, matches.dropFirst()).allSatisfy { $0.distance <= $1.distance }
                    #expect(isWhole, "\(name), \(filter), limit \(limit), query \(query), seed \(Prints.seed)")
                    let farthest = rows.isEmpty ? 0 : sorted[min(rows.count, sorted.count) - 1] + 1e-5
                    recall +=
                        rows.isEmpty ? 1 : Double(rows.count { distances[query][$0] <= farthest }) / Double(rows.count)
                }
                recall /= Double(count)
                #expect(recall >= least, "\(name), \(filter), limit \(limit): \(recall), seed \(Prints.seed)")
            }
        }
    }

    @Test(arguments: [PrintIndexKind.exact, .invertedFile]) func everyCombinationFindsTheNearest(
        kind: PrintIndexKind
    ) async throws {
        var prints = try Prints()
        try prints.indexer().setPrintIndex(kind)
        let catalog = try Catalog(at: prints.folder.file("catalog"))
        let least = kind == .exact ? 1 : 0.985
        try await Self.check(catalog, prints, "\(kind)", least: least)
        try prints.remove { $0 % 3 == 0 }
        try await Self.check(catalog, prints, "\(kind) without a third", least: least)

        // Pages of any length read each entity that is allowed once, and follow each other.
        for filter in Filter.allCases {
            let (vector, cluster) = prints.queries[0]
            let query = try await catalog.query(for: [prints.print(vector)])
            let options = SearchOptions(limit: 150, bounds: .none, condition: filter.condition(cluster: cluster))
            var pages: [[CatalogMatch]] = []
            for try await page in catalog.pages(of: query, options: options) { pages.append(page) }
            let ids = pages.joined().map(\.id)
            let allowed = prints.entities.filter { filter.allows($0, cluster: cluster) }
            #expect(Set(ids).count == ids.count && Set(ids).isSubset(of: allowed.map(\.id)), "\(filter)")
            #expect(Double(ids.count) >= Double(allowed.count) - 150 * (1 - least), "\(filter): \(ids.count)")
            #expect(pages.dropLast().allSatisfy { $0.count == 150 }, "\(filter)")
            let distances = pages.joined().map(\.distance)
            #expect(zip(distances, distances.dropFirst()).allSatisfy { $0 <= $1 }, "\(filter)")
        }
    }
}
