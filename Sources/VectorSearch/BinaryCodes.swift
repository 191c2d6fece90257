import CKernels
package import Compute
import Foundation

/// A random rotation of prints, after which the signs of a difference's components say most about it.
///
/// Row-major, `dimension` × `dimension`; a standard normal matrix made orthonormal by Gram and Schmidt.
package struct Rotation {
    let dimension: Int
    let rows: [Float]

    init(dimension: Int, rows: [Float]) { (self.dimension, self.rows) = (dimension, rows) }

    /// O(dimension³).
    package init(dimension: Int, seed: UInt64) {
        var random = SplitMix64(state: seed)
        var basis: [[Double]] = []
        while basis.count < dimension {
            var row = (0..<dimension).map { _ in random.normal() }
            // Twice, since one pass leaves rounding errors (Giraud et al., "The loss of orthogonality in the
            // Gram-Schmidt orthogonalization process", 2005).
            for _ in 0..<2 {
                for earlier in basis {
                    var product = 0.0
                    for index in 0..<dimension { product += row[index] * earlier[index] }
                    for index in 0..<dimension { row[index] -= product * earlier[index] }
                }
            }
            let norm = row.reduce(0) { $0 + $1 * $1 }.squareRoot()
            if norm > 1e-6 { basis.append(row.map { $0 / norm }) }
        }
        self.init(dimension: dimension, rows: basis.flatMap { $0.map { Float($0) } })
    }

    /// O(dimension²).
    package func apply(to vector: UnsafePointer<Float>, kernels: SIMDTarget) -> [Float] {
        rows.withUnsafeBufferPointer { Self.apply($0, to: vector, kernels: kernels) }
    }

    /// - Parameter vector: has as many components as a row.
    static func apply(
        _ rows: UnsafeBufferPointer<Float>, to vector: UnsafePointer<Float>, kernels: SIMDTarget
    ) -> [Float] {
        let dimension = Int(Double(rows.count).squareRoot())
        return [Float](unsafeUninitializedCapacity: dimension) { out, count in
            if let rows = rows.baseAddress, let out = out.baseAddress {
                kernels.table.dot_products(vector, rows, dimension, dimension, dimension, out)
            }
            count = dimension
        }
    }
}

/// The 1-bit codes of rows: the signs of their rotated differences from a centroid, four in each half of a byte, and
/// three factors with which the kernel estimates distances.
///
/// Gao and Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for Approximate Nearest
/// Neighbor Search", SIGMOD 2024. With the rotated difference u of a row from its centroid c, its signs s and the
/// rotated query q, the estimate of ⟨u, q − c⟩ is w ⟨s, q − c⟩ with w = ‖u‖² / ‖u‖₁, so that
///
///     ‖x − q‖² ≈ ‖q − c‖² + (‖u‖² + 2 w ⟨s, c⟩) − 2 w ⟨s, q⟩
///
/// where the parentheses and −2 w are the first two factors. The third is the standard deviation of the estimate for a
/// query at a distance of 1 from the centroid: 2 ‖u‖ √((1 − α²) / α²) / √(dimension − 1) with α = ‖u‖₁ / (√dimension
/// ‖u‖) (section 3.2.2).
package enum BinaryCodes {
    /// Columns of four signs, padded to whole vectors.
    package static func columns(dimension: Int) -> Int {
        let columns = (dimension + 3) / 4
        let step = Int(LK_BINARY_COLUMNS)
        return (columns + step - 1) / step * step
    }

    static let codesPerBlock = Int(LK_BINARY_BLOCK)
    static func byteCountOfBlock(dimension: Int) -> Int {
        columns(dimension: dimension) * 16 + Int(LK_BINARY_FACTOR_BYTES)
    }

    /// Writes the columns / 2 bytes of a row's code.
    ///
    /// - Parameters:
    ///   - row: rotated.
    ///   - centroid: rotated.
    package static func encode(
        _ row: [Float], centroid: UnsafePointer<Float>, into code: UnsafeMutablePointer<UInt8>
    ) -> SIMD4<Float> {
        var (squares, absolute, along) = (0.0, 0.0, 0.0)
        for index in row.indices {
            let difference = Double(row[index] - centroid[index])
            squares += difference * difference
            absolute += abs(difference)
            along += difference < 0 ? -Double(centroid[index]) : Double(centroid[index])
            if difference >= 0 { code[index >> 3] |= 1 << UInt8(index & 7) }
        }
        guard absolute > 0 else { return .zero }
        let weight = squares / absolute
        let dimension = Double(row.count)
        // (1 − α²) / α²
        let error = max(0, dimension * squares / (absolute * absolute) - 1)
        return SIMD4(
            Float(squares + 2 * weight * along), Float(-2 * weight),
            Float(2 * (squares * error / max(1, dimension - 1)).squareRoot()), 0)
    }

    /// The code of a place in a block, as ``encode(_:centroid:into:)`` writes it.
    static func unpack(
        _ block: UnsafeRawPointer, place: Int, columns: Int, into code: UnsafeMutablePointer<UInt8>
    ) {
        for column in 0..<columns {
            let byte = block.load(fromByteOffset: column * 16 + place % 16, as: UInt8.self)
            code[column / 2] |= (place < 16 ? byte & 15 : byte >> 4) << (column % 2 == 0 ? 0 : 4)
        }
    }

    /// Puts a code and its factors into a block of zeros.
    static func pack(
        _ code: UnsafePointer<UInt8>, factors: SIMD4<Float>, row: UInt32, into block: UnsafeMutableRawPointer,
        place: Int, columns: Int
    ) {
        for column in 0..<columns {
            let bits = (code[column / 2] >> (column % 2 == 0 ? 0 : 4)) & 15
            let byte = block.advanced(by: column * 16 + place % 16).assumingMemoryBound(to: UInt8.self)
            byte.pointee |= place < 16 ? bits : bits << 4
        }
        let after = block + columns * 16 + place * 4
        for factor in 0..<3 {
            after.storeBytes(of: factors[factor], toByteOffset: factor * 4 * codesPerBlock, as: Float.self)
        }
        after.storeBytes(of: row, toByteOffset: 3 * 4 * codesPerBlock, as: UInt32.self)
    }

    static func factors(_ block: UnsafeRawPointer, place: Int, columns: Int) -> SIMD4<Float> {
        let after = block + columns * 16 + place * 4
        return SIMD4(
            after.load(as: Float.self), after.load(fromByteOffset: 4 * codesPerBlock, as: Float.self),
            after.load(fromByteOffset: 8 * codesPerBlock, as: Float.self), 0)
    }

    /// The row of the matrix that a code is of.
    @inline(__always)
    static func row(_ block: UnsafeRawPointer, place: Int, columns: Int) -> Int {
        Int(block.load(fromByteOffset: columns * 16 + (3 * codesPerBlock + place) * 4, as: UInt32.self))
    }
}

/// A rotated query with the tables that its products with codes are looked up in.
package struct BinaryQuery {
    /// [column][16 patterns], bytes.
    package let tables: [UInt8]
    package let step: Float
    package let offset: Float

    package init(_ query: [Float]) {
        let columns = BinaryCodes.columns(dimension: query.count)
        func component(_ index: Int) -> Float { index < query.count ? query[index] : 0 }
        let ranges = (0..<columns).map { column in (0..<4).reduce(0) { $0 + abs(component(column * 4 + $1)) } }
        let total = ranges.reduce(0, +)
        // An entry fits a byte, and the entries of a code 16 bits.
        let step = max(2 * (ranges.max() ?? 0) / 255, 2 * total / (65_535 - Float(columns)), .leastNormalMagnitude)
        var tables = [UInt8](repeating: 0, count: columns * 16)
        for column in 0..<columns {
            for pattern in 0..<16 {
                var sum = ranges[column]
                for bit in 0..<4 {
                    sum += (pattern >> bit) & 1 == 1 ? component(column * 4 + bit) : -component(column * 4 + bit)
                }
                tables[column * 16 + pattern] = UInt8(min(255, max(0, (sum / step).rounded())))
            }
        }
        self.tables = tables
        self.step = step
        offset = -total
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014): the same numbers on
/// every machine.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Standard normal, by Box and Muller.
    mutating func normal() -> Double {
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &self))).squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }
}
