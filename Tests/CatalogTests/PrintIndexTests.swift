import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// The inverted file of a catalog's prints: searches with it, and what keeps it up to date.
struct PrintIndexTests {
    private struct Prints {
        let folder: TemporaryFolder
        let model: FeaturePrintModel
        private(set) var vectors: [String: [Float]] = [:]

        init() throws {
            folder = try TemporaryFolder()
            model = try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).model
        }

        /// Released after each use, as a writer's lock is when a command ends.
        func indexer() throws -> CatalogIndexer { try CatalogIndexer(at: folder.file("catalog"), localFeatures: false) }

        var file: URL { folder.file("catalog").appendingPathComponent("prints.ivf") }
        func catalog() throws -> Catalog { try Catalog(at: folder.file("catalog")) }
        func print(_ vector: [Float]) -> FeaturePrint { FeaturePrint(vector: vector, model: model.identity) }

        static func unit(_ vector: [Float]) -> [Float] {
            let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return vector.map { $0 / norm }
        }

        /// Prints around a few centers.
        mutating func add(
            _ range: Range<Int>, seed: UInt64, around centers: Range<Int> = 0..<20, spread: Float = 0.7
        ) throws {
            var random = SeededGenerator(seed: seed)
            let dimension = model.dimension
            var items: [IndexItem] = []
            for index in range {
                let center = SeededGenerator.center(Int.random(in: centers, using: &random), dimension)
                let vector = Self.unit(zip(center, random.floats(dimension)).map { $0 + spread * $1 })
                vectors["e\(index)"] = vector
                items.append(
                    IndexItem(
                        CatalogEntity(id: "e\(index)", attributes: ["part": "\(index % 100)"]),
                        image: .print(print(vector))))
            }
            let report = try indexer().index(items)
            #expect(report.problems.isEmpty)
        }

        mutating func remove(_ ids: [String]) throws {
            try indexer().removeAll(ids)
            for id in ids { vectors[id] = nil }
        }

        /// The share of the ten nearest entities that searches find.
        func recall(
            _ catalog: Catalog, recall: Double = SearchOptions.defaultRecall, where condition: Condition = .everything,
            among isAllowed: (String) -> Bool = { _ in true }, asking isAsked: (String) -> Bool = { _ in true }
        ) async throws -> Double {
            var random = SeededGenerator(seed: 99)
            var found = 0.0
            let allowed = vectors.filter { isAllowed($0.key) }
            for id in vectors.keys.sorted().filter(isAsked).prefix(20) {
                let vector = vectors[id] ?? []
                let query = Self.unit(zip(vector, random.floats(vector.count, in: -0.05...0.05)).map { $0 + $1 })
                let nearest = allowed.map { ($0.key, zip($0.value, query).reduce(0) { $0 + $1.0 * $1.1 }) }
                    .sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(10)
                let matches = try await catalog.search(
                    catalog.query(for: [print(query)]),
                    options: SearchOptions(limit: 10, bounds: .none, condition: condition, recall: recall))
                #expect(matches.count == min(10, allowed.count))
                found += Double(Set(matches.map(\.id)).intersection(nearest.map(\.0)).count) / Double(nearest.count)
            }
            return found / 20
        }
    }

    @Test func searchesFindTheNearestWithTheFile() async throws {
        var prints = try Prints()
        try prints.add(0..<3000, seed: 1)
        #expect(!FileManager.default.fileExists(atPath: prints.file.path), "few images need none")
        let catalog = try prints.catalog()
        #expect(try await catalog.info.printListCount == nil)
        try prints.indexer().setPrintIndex(.invertedFile)
        // A catalog that is open takes it up.
        let info = try await catalog.info
        #expect(info.printListCount == 128 && info.printIndex == .invertedFile && info.printIndexBytes > 3000 * 48)
        #expect(try await prints.recall(catalog) >= 0.98)
        #expect(try await prints.recall(catalog, recall: 1) == 1)
        let part = Condition.isAnyOf(.attribute("part"), ["7"])
        #expect(try await prints.recall(catalog, where: part) { $0.hasSuffix("07") || $0 == "e7" } >= 0.98)
        #expect(try await catalog.verify().isEmpty)

        try prints.indexer().setPrintIndex(.exact)
        #expect(!FileManager.default.fileExists(atPath: prints.file.path))
        #expect(try await catalog.info.printListCount == nil)
        #expect(try await prints.recall(catalog) == 1)
    }

    @Test func changesReachTheFile() async throws {
        var prints = try Prints()
        try prints.add(0..<2000, seed: 2)
        try prints.indexer().setPrintIndex(.invertedFile)
        let catalog = try prints.catalog()
        // New ones, others of the same ids, and fewer.
        try prints.add(2000..<2100, seed: 3)
        try prints.add(100..<200, seed: 4)
        #expect(try await catalog.info.printListCount == 64, "the centroids are as before")
        try prints.remove((0..<300).map { "e\($0 * 7)" })
        #expect(try await prints.recall(catalog) >= 0.98)
        // So many more that the centroids are made anew.
        try prints.add(2500..<5000, seed: 5)
        #expect(try await catalog.info.printListCount == 128)
        #expect(try await prints.recall(catalog) >= 0.98)
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func imagesOfAnotherKindAreFound() async throws {
        var prints = try Prints()
        try prints.add(0..<2000, seed: 10, spread: 10)
        try prints.indexer().setPrintIndex(.invertedFile)
        let catalog = try prints.catalog()
        // Near each other, and far from all centroids.
        try prints.add(2000..<3500, seed: 11, around: 20..<23, spread: 0.1)
        let recall = try await prints.recall(catalog, asking: { $0.count == 5 && $0 >= "e2" })
        #expect(recall >= 0.95)
    }

    @Test func aDamagedFileIsDoneWithout() async throws {
        var prints = try Prints()
        try prints.add(0..<1500, seed: 6)
        try prints.indexer().setPrintIndex(.invertedFile)
        let intact = try Data(contentsOf: prints.file)
        var random = SeededGenerator(seed: 7)
        for _ in 0..<12 {
            var data = intact
            let place = Int.random(in: 0..<data.count, using: &random)
            if Bool.random(using: &random) { data = data.prefix(place) } else { data[place] ^= 0x40 }
            try FileManager.default.removeItem(at: prints.file)
            try data.write(to: prints.file)
            // A changed byte that no header covers may cost some recall, but no search fails.
            let catalog = try prints.catalog()
            #expect(try await prints.recall(catalog) > 0.5, "byte \(place)")
        }
        let catalog = try prints.catalog()
        let problems = try await catalog.verify()
        #expect(problems.count == 1 && problems[0].contains("prints.ivf"))
        #expect(try await catalog.verify().isEmpty)
        #expect(try await prints.recall(catalog) == 1)
        // The next run makes it again.
        try prints.add(0..<1, seed: 8)
        #expect(try await catalog.info.printListCount == 64)
    }
}

extension SeededGenerator {
    fileprivate static func center(_ index: Int, _ dimension: Int) -> [Float] {
        var random = SeededGenerator(seed: UInt64(1000 + index))
        return random.floats(dimension)
    }
}
