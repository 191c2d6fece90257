import CKernels
import Compute

/// Cluster centers in groups of sixteen, ready for int8 dot products.
struct PackedCenters: Sendable {
    private let packed: [UInt8]
    /// Half the squared norm of each center, which is what a dot product has to be above to be near.
    private let halfSquaredNorms: [Float]
    private let quads: Int
    private let unit: Float
    private let zero: Int32
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
        self.zero = Int32(zero)
        self.kernels = kernels
    }

    /// Offers all centers, numbered from `first` on, to some of the descriptors.
    ///
    /// - Parameter rows: the numbers of those descriptors; `nearest[row]` is what each has found.
    func offer(
        _ queries: QuantizedComponents, rows: ArraySlice<Int32>, first: Int,
        to nearest: UnsafeMutableBufferPointer<lk_nearest_centers>
    ) {
        let (depth, count) = (4 * quads, halfSquaredNorms.count)
        var start = rows.startIndex
        while start < rows.endIndex {
            let part = rows[start..<min(start + Self.rowsAtOnce, rows.endIndex)]
            start = part.endIndex
            withUnsafeTemporaryAllocation(of: Int8.self, capacity: part.count * depth) { codes in
                for (place, row) in part.enumerated() {
                    queries.copyCodes(of: Int(row), to: codes, at: place * depth)
                }
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: part.count * count) { dots in
                    kernels.table.quantized_products(
                        codes.baseAddress, part.count, packed, groupCount, quads, dots.baseAddress)
                    for (place, row) in part.enumerated() {
                        let query = queries.quantizations[Int(row)]
                        kernels.table.offer_centers(
                            dots.baseAddress.map { $0 + place * count }, query.sum * zero, query.unit * unit,
                            halfSquaredNorms, count, Int32(first), nearest.baseAddress.map { $0 + Int(row) })
                    }
                }
            }
        }
    }

    /// So many dot products stay in the first-level cache with a group of centers.
    private static let rowsAtOnce = 16
}
