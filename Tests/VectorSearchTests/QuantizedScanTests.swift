import Compute
import Foundation
import TestSupport
import Testing
import VectorSearch

/// A search that rejects rows by their int8 codes, on every SIMD target, against the portable one, which computes every
/// distance.
struct QuantizedScanTests {
    enum Kind: CaseIterable { case unit, clustered, huge, tiny, sparse, zeros, mixed, copies }

    private static func rows(_ kind: Kind, _ count: Int, _ dimension: Int, _ random: inout SeededGenerator) -> [Float] {
        let center = random.floats(dimension)
        return (0..<count).flatMap { index -> [Float] in
            let row = random.floats(dimension)
            switch kind {
            case .unit:
                let length = row.reduce(0) { $0 + $1 * $1 }.squareRoot()
                return row.map { $0 / length }
            // Nearer to each other than a step of a byte.
            case .clustered: return zip(center, row).map { $0 + $1 * 1e-4 }
            case .huge: return row.map { $0 * 1e17 }
            case .tiny: return row.map { $0 * 1e-17 }
            case .sparse:
                return row.enumerated().map { $0.offset == index % dimension ? $0.element * 100 : $0.element * 1e-3 }
            case .zeros: return index % 3 == 0 ? row : row.map { _ in 0 }
            case .mixed: return row.map { $0 * powf(10, Float(index % 9) - 4) }
            case .copies: return index % 2 == 0 ? center : row
            }
        }
    }

    @Test(arguments: Kind.allCases, [1, 7, 64, 100, 256]) func findsWhatAllDistancesFind(kind: Kind, dimension: Int) {
        let seed = UInt64(dimension)
        var random = SeededGenerator(seed: seed)
        let count = 3000
        let matrix = PrintMatrix(Self.rows(kind, count, dimension, &random), dimension: dimension)
        let queries = (0..<9).map { index in
            index % 3 == 0 ? matrix.row(index * 50) : Self.rows(kind, 1, dimension, &random)
        }
        let reference = ExactSearch(matrix, simd: SIMDTarget.available[0], int8: false)
        for simd in SIMDTarget.available {
            let search = ExactSearch(matrix, simd: simd, int8: true)
            #expect(search.usesInt8, "\(simd.name) computes every distance too")
            for k in [1, 10, 300] {
                for threads in [1, 3] {
                    let expected = queries.map { reference.nearest(to: $0, k: k, threads: 1) }
                    #expect(
                        queries.map { search.nearest(to: $0, k: k, threads: threads) } == expected,
                        "\(simd.name), k \(k), seed \(seed)")
                    #expect(
                        search.nearest(toEach: queries, k: k, threads: threads) == expected,
                        "\(simd.name), batch, k \(k), seed \(seed)")
                }
            }
            #expect(
                search.nearest(toAnyOf: Array(queries[1...3]), k: 20)
                    == reference.nearest(toAnyOf: Array(queries[1...3]), k: 20),
                "\(simd.name), seed \(seed)")
        }
    }

    @Test(arguments: 0..<20) func codesAreAsFarFromTheRowAsTheySay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let row = random.floats(Int.random(in: 1...300, using: &random)).map { $0 * powf(10, Float(seed) - 10) }
        var codes = [UInt8](repeating: 0, count: row.count)
        let (scale, error) = row.withUnsafeBufferPointer { row in
            codes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(row, into: $0) }
        }
        let difference = zip(row, codes).reduce(0.0) { sum, pair in
            let left = Double(pair.0) - Double(scale) * Double(Int(pair.1) - 128)
            return sum + left * left
        }.squareRoot()
        #expect(difference <= Double(error) && Double(error) <= difference * 1.001 + 1e-30, "seed \(seed)")
        // Half a step a component, at most.
        #expect(difference <= Double(scale) * 0.5001 * Double(row.count).squareRoot(), "seed \(seed)")
    }
}
