import CKernels
import Compute

/// Cluster centers in groups of sixteen, ready for int8 dot products.
struct PackedCenters: Sendable {
    private let packed: [UInt8]
    /// Half the squared norm of each center, which is what a dot product has to be above to be near.
    private let halfSquaredNorms: [Float]
    private let quads: Int
    private let unit: Float
    private let kernels: SIMDTarget

    private var groupCount: Int { halfSquaredNorms.count / 16 }

    init(_ centers: ArraySlice<UInt8>, depth: Int, unit: Float, zero: Int, kernels: SIMDTarget) {
        let rows = Array(centers)
        let count = rows.count / depth
        quads = depth / 4
        var packed = [UInt8](repeating: 0, count: count * depth)
        kernels.table.pack_quantized_rows(rows, depth, count, depth, &packed)
        self.packed = packed
        halfSquaredNorms = (0..<count).map { row in
            var sum = 0
            for code in rows[(row * depth)..<((row + 1) * depth)] { sum += (Int(code) - zero) * (Int(code) - zero) }
            return Float(sum) * unit * unit / 2
        }
        self.unit = unit
        self.kernels = kernels
    }

    /// Offers all centers, numbered from `first` on.
    func offer(_ query: QuantizedComponents, first: Int, to nearest: inout NearestCenters) {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: halfSquaredNorms.count) { dots in
            kernels.table.quantized_products(query.codes, 1, packed, groupCount, quads, dots.baseAddress)
            let scale = query.unit * unit
            var lowest = nearest.lowestScore
            halfSquaredNorms.withUnsafeBufferPointer { halves in
                for index in halves.indices {
                    let score = Float(dots[index] - query.offset) * scale - halves[index]
                    guard score > lowest else { continue }
                    nearest.insert(first + index, score)
                    lowest = nearest.lowestScore
                }
            }
        }
    }
}
