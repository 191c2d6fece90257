import CKernels
import Compute
import Foundation
import Inference
import LocalFeatures

/// The shipped model's projection and vocabulary, written out plainly.
struct ReferenceModel {
    static let dimension = 64
    static let groups = 256
    static let words = 65_536

    let mean: [Float]
    let rows: [Float]
    let deviations: [Float]
    let coarse: [UInt8]
    let centers: [UInt8]
    let unit: Float
    let zero: Int

    init() throws {
        struct Description: Decodable { let unit: Float; let zero: Int }
        let file = try SafeTensorsFile(Data(contentsOf: FeatureFixture.file))
        mean = try file.floats("mean", shape: [128])
        rows = try file.floats("projection", shape: [64, 128])
        deviations = try file.floats("deviations", shape: [64])
        coarse = try file.bytes("coarse", shape: [256, 64])
        centers = try file.bytes("words", shape: [65_536, 64])
        let text = file.metadata["lookalike.local_descriptors"] ?? ""
        let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
        (unit, zero) = (description.unit, description.zero)
    }

    /// In double precision.
    func projected(_ raw: ArraySlice<Float>) -> [Double] {
        let centered = zip(raw, mean).map { Double($0) - Double($1) }
        let values = (0..<64).map { row in (0..<128).reduce(0.0) { $0 + Double(rows[row * 128 + $1]) * centered[$1] } }
        let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return values.map { $0 / norm }
    }

    /// To the bit as the library projects, for what has to be compared to the bit afterwards.
    func projectedAsFloats(_ raw: ArraySlice<Float>) -> [Float] {
        let centered = zip(raw, mean).map { $0 - $1 }
        var values = [Float](repeating: 0, count: 64)
        SIMDTarget.selected.table.dot_products(centered, rows, 128, 64, 128, &values)
        let squares = values.reduce(Float(1e-20)) { $0 + $1 * $1 }
        let scale = 1 / squares.squareRoot()
        return values.map { $0 * scale }
    }

    /// The center nearest to a descriptor among all words.
    func nearestWord(_ descriptor: [Double]) -> (word: Int, distance: Double) {
        var best = (word: -1, distance: Double.infinity)
        centers.withUnsafeBufferPointer { centers in
            descriptor.withUnsafeBufferPointer { descriptor in
                for word in 0..<Self.words {
                    var sum = 0.0
                    for index in 0..<64 {
                        let d = descriptor[index] - Double(Int(centers[word * 64 + index]) - zero) * Double(unit)
                        sum += d * d
                    }
                    if sum < best.distance { best = (word, sum) }
                }
            }
        }
        return best
    }

    func squaredDistance(_ descriptor: [Double], word: Int) -> Double {
        (0..<64).reduce(0) { sum, index in
            let d = descriptor[index] - center(word, index)
            return sum + d * d
        }
    }

    /// The two-level search: the words of the nearest groups, three for one word and five for more, by int8 products.
    func words(of descriptor: [Float], count: Int) -> [Int] {
        let largest = descriptor.reduce(Float(1e-20)) { max($0, abs($1)) }
        let step = largest / 127
        let codes = descriptor.map { Int(($0 / step).rounded()) }
        func scores(_ table: [UInt8], _ range: Range<Int>) -> [(index: Int, score: Float)] {
            range.map { row in
                var (dot, squares) = (0, 0)
                for index in 0..<64 {
                    let value = Int(table[row * 64 + index]) - zero
                    dot += codes[index] * value
                    squares += value * value
                }
                return (row, Float(dot) * (step * unit) - Float(squares) * unit * unit / 2)
            }
        }
        func best(_ scored: [(index: Int, score: Float)], _ count: Int) -> [Int] {
            // Of equal scores the one that was offered first.
            scored.enumerated().sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }
                .prefix(count).map(\.element.index)
        }
        let perGroup = Self.words / Self.groups
        let near = best(scores(coarse, 0..<Self.groups), count == 1 ? 3 : 5)
        return best(near.flatMap { scores(centers, ($0 * perGroup)..<(($0 + 1) * perGroup)) }, count)
    }

    /// One bit per component: whether it is above the word's center.
    func signature(of descriptor: [Double], word: Int) -> UInt64 {
        (0..<64).reduce(0) { bits, index in
            descriptor[index] > center(word, index) ? bits | 1 << UInt64(index) : bits
        }
    }

    /// A component of a word's center.
    func center(_ word: Int, _ index: Int) -> Double { Double(Int(centers[word * 64 + index]) - zero) * Double(unit) }
}
