import Foundation
import LocalFeatures
import TestSupport
import Testing

struct DenseDescriptorTests {
    private static let dimension = 24

    /// A map of random components in which cell `i` has the reliability `reliability[i]`.
    private static func map(_ reliability: [Float], seed: UInt64) -> [Float] {
        var random = SeededGenerator(seed: seed)
        let count = dimension * reliability.count
        return (0..<count).map { _ in Float.random(in: -1...1, using: &random) } + reliability
    }

    @Test func areTheUnitVectorsOfTheMostReliableCells() {
        let reliability = (0..<400).map { Float(($0 * 7919) % 400) / 400 }
        let map = Self.map(reliability, seed: 51)
        let descriptors = DenseDescriptors(map: map)
        #expect(descriptors.count == 255)
        let best = reliability.indices.sorted { reliability[$0] > reliability[$1] }
        for (place, cell) in best.prefix(255).enumerated() {
            let vector = (0..<Self.dimension).map { Double(map[$0 * 400 + cell]) }
            let norm = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            for index in 0..<Self.dimension {
                let component = Double(descriptors.components[place * Self.dimension + index])
                #expect(abs(component - vector[index] / norm * 127) <= 0.501, "seed 51, cell \(cell)")
            }
        }
    }

    /// Numbers that no descriptor is made of ended the process.
    @Test(arguments: [Float.nan, .infinity, 3e38]) func aMapThatIsNotFiniteHasNone(value: Float) {
        var map = Self.map([1, 0, 0.5], seed: 53)
        map[3 * 5 + 2] = value
        #expect(DenseDescriptors(map: map).count == 0)
        #expect(DenseDescriptors(map: Self.map([1, value, 0.5], seed: 53)).count == (value.isFinite ? 3 : 0))
    }

    @Test func aSmallMapHasFewer() {
        #expect(DenseDescriptors(map: Self.map([1, 0, 0.5], seed: 52)).count == 3)
        #expect(DenseDescriptors(map: []).count == 0)
    }

    /// Pairs are counted that are each other's nearest among all, and whose cosine is 0.83 or more.
    @Test(arguments: [(0, 5), (1, 1), (40, 90), (255, 255)]) func matchesAreMutual(first: Int, second: Int) {
        var random = SeededGenerator(seed: UInt64(60 + first))
        func vectors(_ count: Int) -> [[Double]] {
            (0..<count).map { _ in (0..<Self.dimension).map { _ in Double.random(in: -1...1, using: &random) } }
        }
        let rows = vectors(first)
        // Half resemble a row, in another order.
        let columns = vectors(second).enumerated().map { index, vector in
            index % 2 == 0 && first > 0
                ? zip(rows[(index * 31) % first], vector).map { $0 + 0.5 * $1 } : vector
        }
        func descriptors(_ vectors: [[Double]]) -> DenseDescriptors {
            let planes = (0..<Self.dimension).flatMap { component in vectors.map { Float($0[component]) } }
            return DenseDescriptors(map: planes + vectors.indices.map { Float(vectors.count - $0) })
        }
        let (a, b) = (descriptors(rows), descriptors(columns))
        func product(_ row: Int, _ column: Int) -> Int {
            (0..<Self.dimension).reduce(0) {
                $0 + Int(a.components[row * Self.dimension + $1]) * Int(b.components[column * Self.dimension + $1])
            }
        }
        func isNearest(_ row: Int, _ column: Int) -> Bool {
            let best = product(row, column)
            return best >= Int((0.83 * 127 * 127).rounded(.up))
                && (0..<b.count).allSatisfy { product(row, $0) < best || $0 >= column && product(row, $0) == best }
                && (0..<a.count).allSatisfy { product($0, column) < best || $0 >= row && product($0, column) == best }
        }
        let expected = (0..<a.count).reduce(0) { total, row in
            total + (0..<b.count).count { isNearest(row, $0) }
        }
        #expect(a.matchCount(with: b) == expected, "seed \(60 + first)")
        #expect(first < 40 || expected > 10)
    }

    @Test func anImageMatchesItselfAndAChangedOneMoreThanOthers() throws {
        let model = try FeatureFixture.model()
        let image = model.denseDescriptors(of: FeatureFixture.image)
        #expect(image.count == 255)
        #expect(image == model.denseDescriptors(of: FeatureFixture.image))
        let changed = model.denseDescriptors(
            of: try FeatureFixture.placed(degrees: 8, scale: 1, side: 320).image)
        let others = (2..<12).map { model.denseDescriptors(of: SampleImage.shapes(seed: $0)).matchCount(with: image) }
        #expect(image.matchCount(with: image) > 200)
        #expect(changed.matchCount(with: image) > (others.max() ?? 0), "\(others)")
    }
}
