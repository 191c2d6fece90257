import CKernels
import Compute

/// Products of many queries with rows, −2 q·x: a matrix product.
///
/// A 1×1 convolution is a matrix product, with rows for pixels and queries for output channels, so this is the
/// network's register-tiled kernel. It needs no library, no threads of its own, and no state that a process shares.
struct QueryProducts: Sendable {
    /// Queries that a group holds.
    static let lanes = Int(LK_CHANNEL_BLOCK)

    let groupCount: Int
    private let dimension: Int
    private let kernels: SIMDTarget
    /// [group][component][16 queries]
    private let weights: [Float]
    private let zeros: [Float]

    init(_ queries: [[Float]], dimension: Int, kernels: SIMDTarget) {
        let lanes = Self.lanes
        groupCount = (queries.count + lanes - 1) / lanes
        self.dimension = dimension
        self.kernels = kernels
        var weights = [Float](repeating: 0, count: groupCount * dimension * lanes)
        for (index, query) in queries.enumerated() {
            let first = index / lanes * dimension * lanes + index % lanes
            for (component, value) in query.enumerated() { weights[first + component * lanes] = -2 * value }
        }
        self.weights = weights
        zeros = [Float](repeating: 0, count: groupCount * lanes)
    }

    /// Writes [group][row][16 queries].
    func compute(rows: UnsafePointer<Float>, count: Int, into output: UnsafeMutablePointer<Float>) {
        weights.withUnsafeBufferPointer { weights in
            zeros.withUnsafeBufferPointer { zeros in
                var product = lk_convolution()
                product.input = rows
                product.input_block_stride = Self.lanes
                product.pixel_step = dimension
                product.input_channels = Int32(dimension)
                product.weights = weights.baseAddress
                product.bias = zeros.baseAddress
                product.output = output
                product.output_block_stride = count * Self.lanes
                product.output_pixel_stride = Self.lanes
                product.output_width = Int32(count)
                (product.kernel_height, product.kernel_width) = (1, 1)
                kernels.table.convolve(&product, 0, Int32(groupCount), 0, 1)
            }
        }
    }
}
