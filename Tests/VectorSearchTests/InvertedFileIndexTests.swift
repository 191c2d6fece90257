import Compute
import TestSupport
import Testing
import VectorSearch

struct InvertedFileIndexTests {
    /// Unit rows around centers, some nearer to each other than others.
    private static func rows(_ count: Int, _ dimension: Int, _ random: inout SeededGenerator) -> [Float] {
        let centers = (0..<max(1, count / 50)).map { _ in random.floats(dimension) }
        return (0..<count).flatMap { _ -> [Float] in
            let center = centers[Int.random(in: 0..<centers.count, using: &random)]
            return unit(zip(center, random.floats(dimension)).map { $0 + $1 })
        }
    }

    private static func unit(_ vector: [Float]) -> [Float] {
        let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return vector.map { $0 / max(norm, 1e-6) }
    }

    private static func row(_ index: Int, of rows: [Float], _ dimension: Int) -> [Float] {
        Array(rows[(index * dimension)..<((index + 1) * dimension)])
    }

    /// The share of the true neighbors that is found.
    private static func recall(
        _ index: InvertedFileIndex, _ queries: [[Float]], k: Int, recall: Double, among ranges: [Range<Int>]? = nil
    ) -> Double {
        let exact = ExactSearch(index.matrix)
        var found = 0.0
        for query in queries {
            let truth = exact.nearest(toAnyOf: [query], k: k, among: ranges)
            let neighbors = index.nearest(toAnyOf: [query], k: k, recall: recall, among: ranges)
            found += Double(Set(truth).intersection(neighbors).count) / Double(max(truth.count, 1))
        }
        return found / Double(queries.count)
    }

    @Test(arguments: [(64, 10), (256, 1), (100, 10), (300, 10), (5, 3)]) func findsWhatWasAskedFor(
        dimension: Int, k: Int
    ) {
        let seed = UInt64(dimension)
        var random = SeededGenerator(seed: seed)
        let rows = Self.rows(6000, dimension, &random)
        let index = InvertedFileIndex(PrintMatrix(rows, dimension: dimension))
        #expect(index.listCount == 128)
        let queries = (0..<60).map { query in
            Self.unit(
                zip(Self.row(query * 90, of: rows, dimension), random.floats(dimension, in: -0.05...0.05))
                    .map { $0 + $1 })
        }
        for wanted in [0.9, 0.99] {
            let found = Self.recall(index, queries, k: k, recall: wanted)
            #expect(found >= wanted - 0.02, "\(found) of \(wanted), seed \(seed)")
        }
        // Distances are those of the exact search, and rows are in their order.
        let found = index.nearest(to: queries[0], k: k, recall: 0.99)
        let exact = ExactSearch(index.matrix).nearest(to: queries[0], k: 6000)
        #expect(found == exact.filter { Set(found).contains($0) })
        #expect(index.probeCount(recall: 0.99, k: 10) < index.listCount)
        #expect(index.probeCount(recall: 0.5, k: 10) <= index.probeCount(recall: 0.99, k: 10))
        #expect(index.probeCount(recall: 0.99, k: 10) <= index.probeCount(recall: 0.99, k: 1000))
    }

    @Test(arguments: [1, 7, 100]) func queriesAtOnceFindWhatEachFindsAlone(count: Int) {
        let (dimension, seed) = (40, UInt64(count) + 90)
        var random = SeededGenerator(seed: seed)
        let rows = Self.rows(5000, dimension, &random)
        let index = InvertedFileIndex(PrintMatrix(rows, dimension: dimension))
        let queries = (0..<count).map { _ in
            let row = Int.random(in: 0..<5000, using: &random)
            return Self.unit(
                zip(Self.row(row, of: rows, dimension), random.floats(dimension, in: -0.1...0.1)).map { $0 + $1 })
        }
        // With the highest recall all rows are compared.
        for (recall, k) in [(0.5, 3), (0.99, 10), (0.999_999, 40)] {
            let alone = queries.map { index.nearest(to: $0, k: k, recall: recall) }
            for threads in [1, 3] {
                #expect(
                    index.nearest(toEach: queries, k: k, recall: recall, threads: threads) == alone,
                    "recall \(recall), seed \(seed)")
            }
        }
    }

    @Test(arguments: [0.5, 1.5, 5] as [Float]) func queriesOfAnotherLengthKeepTheRecall(length: Float) {
        var random = SeededGenerator(seed: 81)
        let rows = (0..<6000).map { _ in Self.unit(random.floats(64)) }
        let index = InvertedFileIndex(PrintMatrix(rows.flatMap(\.self), dimension: 64))
        let queries = (0..<40).map { query in
            Self.unit(zip(rows[query * 150], random.floats(64, in: -0.1...0.1)).map { $0 + $1 }).map { $0 * length }
        }
        #expect(Self.recall(index, queries, k: 10, recall: 0.99) >= 0.97)
    }

    /// The nearest rows up to some number are of the query's group, and the next ones of another.
    @Test(arguments: [1, 12, 20, 32, 45, 70, 100]) func groupsOfRowsKeepTheRecall(k: Int) {
        let (dimension, seed) = (256, UInt64(k) + 600)
        var random = SeededGenerator(seed: seed)
        let centers = (0..<20).map { _ in random.floats(dimension) }
        let rows = (0..<1800).map { _ in
            let center = centers[Int.random(in: 0..<20, using: &random)]
            return Self.unit(zip(center, random.floats(dimension)).map { $0 + 0.7 * $1 })
        }
        let index = InvertedFileIndex(PrintMatrix(rows.flatMap(\.self), dimension: dimension))
        let queries = (0..<200).map { query in
            Self.unit(zip(rows[query * 9], random.floats(dimension, in: -0.05...0.05)).map { $0 + $1 })
        }
        let found = Self.recall(index, queries, k: k, recall: 0.99)
        #expect(found >= 0.985, "\(found), seed \(seed)")
    }

    @Test func everyRowIsInOneList() {
        var random = SeededGenerator(seed: 5)
        let index = InvertedFileIndex(PrintMatrix(Self.rows(3001, 32, &random), dimension: 32), listCount: 50)
        #expect(index.contents.rowsInLists.sorted() == (0..<3001).map { UInt32($0) })
    }

    /// The bound of a row is `deviations` standard deviations below its estimate.
    @Test(arguments: [32, 256, 301]) func boundsAreBelowDistancesAsOftenAsTheySay(dimension: Int) {
        var random = SeededGenerator(seed: UInt64(dimension) + 9)
        let rotation = Rotation(dimension: dimension, seed: 3)
        let centroid = random.floats(dimension, in: -0.02...0.02)
        let query = random.floats(dimension, in: -0.1...0.1)
        let rotatedQuery = rotation.apply(to: query, kernels: .selected)
        let rotatedCentroid = rotation.apply(to: centroid, kernels: .selected)
        let binary = BinaryQuery(rotatedQuery)
        func distance(_ a: [Float], _ b: [Float]) -> Double {
            zip(a, b).reduce(0) { $0 + Double($1.0 - $1.1) * Double($1.0 - $1.1) }
        }
        let base = distance(query, centroid)
        var (errors, above) = ([Double](), 0)
        for _ in 0..<2000 {
            let row = random.floats(dimension, in: -0.1...0.1)
            var code = [UInt8](repeating: 0, count: BinaryCodes.columns(dimension: dimension) / 2)
            let factors = BinaryCodes.encode(
                rotation.apply(to: row, kernels: .selected), centroid: rotatedCentroid, into: &code)
            let sum = (0..<(code.count * 2)).reduce(0) { sum, column in
                let pattern = Int(code[column / 2] >> (column % 2 == 0 ? 0 : 4)) & 15
                return sum + Int(binary.tables[column * 16 + pattern])
            }
            let product = Double(binary.step) * Double(sum) + Double(binary.offset)
            let estimate = base + Double(factors[0]) + Double(factors[1]) * product
            let deviation = Double(factors[2]) * base.squareRoot()
            errors.append((estimate - distance(query, row)) / deviation)
            if estimate - 2 * deviation > distance(query, row) { above += 1 }
        }
        let mean = errors.reduce(0, +) / Double(errors.count)
        let variance = errors.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(errors.count)
        #expect(abs(mean) < 0.1, "the estimates are unbiased: \(mean)")
        #expect((0.8...1.2).contains(variance.squareRoot()), "\(variance.squareRoot()) standard deviations")
        #expect(above < 80, "2.3 % of 2000 are 46: \(above)")
    }

    @Test func rotationKeepsDistances() {
        var random = SeededGenerator(seed: 11)
        for dimension in [1, 2, 7, 64, 200] {
            let rotation = Rotation(dimension: dimension, seed: 1)
            let (a, b) = (random.floats(dimension), random.floats(dimension))
            func product(_ a: [Float], _ b: [Float]) -> Float { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } }
            let (x, y) = (rotation.apply(to: a, kernels: .selected), rotation.apply(to: b, kernels: .selected))
            #expect(abs(product(a, b) - product(x, y)) < 1e-3, "dimension \(dimension)")
            #expect(abs(product(a, a) - product(x, x)) < 1e-3, "dimension \(dimension)")
        }
    }

    @Test func severalQueriesRankByTheirMinimum() {
        var random = SeededGenerator(seed: 21)
        let rows = Self.rows(5000, 64, &random)
        let index = InvertedFileIndex(PrintMatrix(rows, dimension: 64))
        var found = 0.0
        for start in stride(from: 0, to: 4000, by: 200) {
            let queries = (0..<4).map { Self.row(start + $0 * 31, of: rows, 64) }
            let neighbors = index.nearest(toAnyOf: queries, k: 20, recall: 0.99)
            #expect(Set(neighbors.map(\.row)).count == neighbors.count, "no row twice")
            found += Double(
                Set(ExactSearch(index.matrix).nearest(toAnyOf: queries, k: 20)).intersection(neighbors).count)
        }
        #expect(found / 400 >= 0.97)
    }

    @Test(arguments: [0.001, 0.01, 0.1, 0.5]) func filtersKeepTheRecall(share: Double) {
        var random = SeededGenerator(seed: 31)
        let rows = Self.rows(8000, 64, &random)
        let index = InvertedFileIndex(PrintMatrix(rows, dimension: 64))
        let allowed = (0..<8000).filter { _ in Double.random(in: 0..<1, using: &random) < share }
        let ranges = allowed.map { $0..<($0 + 1) }
        let queries = (0..<40).map { Self.row($0 * 150, of: rows, 64) }
        for query in queries {
            #expect(index.nearest(toAnyOf: [query], k: 10, among: ranges).allSatisfy { allowed.contains($0.row) })
        }
        #expect(Self.recall(index, queries, k: 10, recall: 0.99, among: ranges) >= 0.97)
        #expect(index.nearest(toAnyOf: [queries[0]], k: 10, among: []).isEmpty)
    }

    @Test func anUpdateKeepsCodesAndRecall() {
        var random = SeededGenerator(seed: 41)
        let all = Self.rows(4600, 64, &random)
        let (rows, new) = (Array(all[..<(4000 * 64)]), Array(all[(4000 * 64)...]))
        let earlier = InvertedFileIndex(PrintMatrix(rows, dimension: 64))
        // Every seventh row is removed, some rows come between others, and one takes another's place.
        var origins: [UInt32?] = []
        var values: [Float] = []
        var next = 0
        for row in 0..<4000 where row % 7 != 0 {
            if row % 8 == 0, next < 600 {
                origins.append(nil)
                values += Self.row(next, of: new, 64)
                next += 1
            }
            origins.append(UInt32(row))
            values += Self.row(row, of: rows, 64)
        }
        let matrix = PrintMatrix(values, dimension: 64)
        let updated = earlier.updated(for: matrix, origins: origins)
        #expect(updated.contents.rowsInLists.sorted() == origins.indices.map { UInt32($0) })
        let queries = (0..<50).map { matrix.row($0 * 70) }
        #expect(Self.recall(updated, queries, k: 10, recall: 0.99) >= 0.97)
        // What was copied is what would have been computed.
        let computed = earlier.updated(for: matrix, origins: origins.map { _ in nil })
        #expect(zip(computed.contents.sections, updated.contents.sections).allSatisfy { $0.elementsEqual($1) })
    }

    @Test func anUpdateWithRowsOfAnotherKindKeepsTheRecall() {
        var random = SeededGenerator(seed: 91)
        let centers = (0..<30).map { _ in random.floats(64) }
        let rows = (0..<3000).map { row in
            Self.unit(zip(centers[row % 30], random.floats(64, in: -0.1...0.1)).map { $0 + $1 })
        }
        let new = (0..<1500).map { _ in Self.unit(random.floats(64)) }
        let updated = InvertedFileIndex(PrintMatrix(rows.flatMap(\.self), dimension: 64)).updated(
            for: PrintMatrix((rows + new).flatMap(\.self), dimension: 64),
            origins: (0..<3000).map { UInt32($0) } + new.map { _ in nil })
        let queries = (0..<40).map { query in
            Self.unit(zip(new[query * 37], random.floats(64, in: -0.1...0.1)).map { $0 + $1 })
        }
        #expect(Self.recall(updated, queries, k: 10, recall: 0.99) >= 0.95)
    }

    @Test func theSameRowsMakeTheSameIndex() {
        var random = SeededGenerator(seed: 51)
        let matrix = PrintMatrix(Self.rows(2000, 48, &random), dimension: 48)
        let contents = [1, 2, 4].map { InvertedFileIndex(matrix, threads: $0).contents }
        for other in contents.dropFirst() {
            #expect(zip(contents[0].sections, other.sections).allSatisfy { $0.elementsEqual($1) })
        }
    }

    @Test(arguments: [0, 1, 2, 33]) func fewRows(count: Int) {
        var random = SeededGenerator(seed: 61)
        let rows = Self.rows(count, 8, &random)
        let index = InvertedFileIndex(PrintMatrix(rows, dimension: 8))
        let query = random.floats(8)
        #expect(
            index.nearest(to: query, k: 50, recall: 0.9999)
                == ExactSearch(index.matrix).nearest(to: query, k: 50))
        #expect(index.nearest(to: query, k: 0).isEmpty)
        #expect(index.nearest(toEach: [], k: 3).isEmpty)
    }

    @Test func equalRowsAreAllFound() {
        var random = SeededGenerator(seed: 71)
        let row = random.floats(16)
        let index = InvertedFileIndex(PrintMatrix((0..<300).flatMap { _ in row }, dimension: 16), listCount: 8)
        #expect(index.nearest(to: row, k: 300, recall: 0.999).map(\.row) == Array(0..<300))
    }

    @Test func normalQuantiles() {
        for (probability, quantile) in [(0.5, 0.0), (0.975, 1.959964), (0.995, 2.575829), (0.9995, 3.290527)] {
            #expect(abs(NormalDistribution.quantile(probability) - quantile) < 1e-5)
        }
    }
}
