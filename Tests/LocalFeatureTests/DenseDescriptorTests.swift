import Foundation
import LocalFeatures
import TestSupport
import Testing

struct DenseDescriptorTests {
    private static let dimension = 24
    private static let deviations = (0..<dimension).map { 0.24 - 0.003 * Float($0) }
    private static let quantizer = DenseQuantizer(deviations)

    /// The components that a code stands for, times 127, by the levels of Max's Table I.
    private static func restored(_ code: UInt64) -> [Int] {
        var (bits, components) = (code, [Int]())
        for index in 1..<dimension {
            let levels = index <= 18 ? [0.2451, 0.7560, 1.344, 2.152] : [0.4528, 1.510]
            let count = UInt64(levels.count)
            let value = (levels[Int(bits % count)] * Double(deviations[index]) * 127).rounded()
            components.append(Int(bits / count % 2 == 1 ? -value : value))
            bits /= 2 * count
        }
        let squares = components.reduce(0) { $0 + $1 * $1 }
        return [Int(Double(max(127 * 127 - squares, 0)).squareRoot().rounded())] + components
    }

    /// A map of random components in which cell `i` has the reliability `reliability[i]`.
    private static func map(_ reliability: [Float], seed: UInt64) -> [Float] {
        var random = SeededGenerator(seed: seed)
        let count = dimension * reliability.count
        return (0..<count).map { _ in Float.random(in: -1...1, using: &random) } + reliability
    }

    @Test func areTheUnitVectorsOfTheMostReliableCells() {
        let reliability = (0..<400).map { Float(($0 * 7919) % 400) / 400 }
        let map = Self.map(reliability, seed: 51)
        let descriptors = DenseDescriptors(map: map, quantizer: Self.quantizer)
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

    /// Each component is at the level that is nearest, but for rounding, and the first one completes a unit vector.
    @Test func codesStandForTheNearestLevels() {
        var random = SeededGenerator(seed: 54)
        for _ in 0..<200 {
            let values = Self.deviations.map { deviation in
                Double(deviation) * (0..<4).reduce(0) { sum, _ in sum + Double.random(in: -0.8...0.8, using: &random) }
            }
            let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
            let map = values.map { Float($0 / norm) } + [1]
            let descriptors = DenseDescriptors(map: map, quantizer: Self.quantizer)
            let restored = Self.restored(descriptors.codes[0])
            for index in 1..<Self.dimension {
                let levels = index <= 18 ? [0.2451, 0.7560, 1.344, 2.152] : [0.4528, 1.510]
                let scale = Double(Self.deviations[index]) * 127
                let value = Double(descriptors.components[index])
                let nearest = levels.map { abs(abs(value) - $0 * scale) }.min() ?? 0
                #expect(abs(value - Double(restored[index])) <= nearest + 0.02 * scale + 1, "seed 54")
            }
        }
    }

    /// Numbers that no descriptor is made of ended the process.
    @Test(arguments: [Float.nan, .infinity, 3e38]) func aMapThatIsNotFiniteHasNone(value: Float) {
        var map = Self.map([1, 0, 0.5], seed: 53)
        map[3 * 5 + 2] = value
        #expect(DenseDescriptors(map: map, quantizer: Self.quantizer).count == 0)
        #expect(
            DenseDescriptors(map: Self.map([1, value, 0.5], seed: 53), quantizer: Self.quantizer).count
                == (value.isFinite ? 3 : 0))
    }

    @Test func aSmallMapHasFewer() {
        #expect(DenseDescriptors(map: Self.map([1, 0, 0.5], seed: 52), quantizer: Self.quantizer).count == 3)
        #expect(DenseDescriptors(map: [], quantizer: Self.quantizer).count == 0)
    }

    /// Pairs are counted that are each other's nearest among all, and whose cosine is 0.83 or more.
    @Test(arguments: [(0, 5), (1, 1), (40, 90), (255, 255)]) func matchesAreMutual(first: Int, second: Int) {
        var random = SeededGenerator(seed: UInt64(60 + first))
        func vectors(_ count: Int) -> [[Double]] {
            (0..<count).map { _ in
                (0..<Self.dimension).map { Double.random(in: $0 == 0 ? 0...1 : -1...1, using: &random) }
            }
        }
        let rows = vectors(first)
        // Half resemble a row, in another order.
        let columns = vectors(second).enumerated().map { index, vector in
            index % 2 == 0 && first > 0
                ? zip(rows[(index * 31) % first], vector).map { $0 + 0.3 * $1 } : vector
        }
        func descriptors(_ vectors: [[Double]]) -> DenseDescriptors {
            let planes = (0..<Self.dimension).flatMap { component in vectors.map { Float($0[component]) } }
            return DenseDescriptors(
                map: planes + vectors.indices.map { Float(vectors.count - $0) }, quantizer: Self.quantizer)
        }
        let (a, codes) = (descriptors(rows), descriptors(columns).codes)
        let b = codes.map(Self.restored)
        func product(_ row: Int, _ column: Int) -> Int {
            (0..<Self.dimension).reduce(0) {
                $0 + Int(a.components[row * Self.dimension + $1]) * b[column][$1]
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
        #expect(a.matchCount(with: codes) == expected, "seed \(60 + first)")
        #expect(first < 40 || expected > 10)
    }

    @Test func anImageMatchesItselfAndAChangedOneMoreThanOthers() throws {
        let model = try FeatureFixture.model()
        let image = model.denseDescriptors(of: FeatureFixture.image)
        #expect(image.count == 255)
        #expect(image.components == model.denseDescriptors(of: FeatureFixture.image).components)
        let changed = model.denseDescriptors(
            of: try FeatureFixture.placed(degrees: 8, scale: 1, side: 320).image)
        let others = (2..<12).map {
            model.denseDescriptors(of: SampleImage.shapes(seed: $0)).matchCount(with: image.codes)
        }
        #expect(image.matchCount(with: image.codes) > 200)
        #expect(changed.matchCount(with: image.codes) > (others.max() ?? 0), "\(others)")
    }
}
