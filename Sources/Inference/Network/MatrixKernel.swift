import CKernels
import Compute

/// Matrix products on the kernel of convolutions: the rows of the left side are its pixels.
struct MatrixKernel {
    let rows: Int
    /// Columns of the left side, rows of the right.
    let depth: Int
    let columns: Int
    /// How far apart rows of the left side and of the product are.
    let leftStride: Int
    let outputStride: Int

    init(rows: Int, depth: Int, columns: Int, leftStride: Int? = nil, outputStride: Int? = nil) {
        (self.rows, self.depth, self.columns) = (rows, depth, columns)
        (self.leftStride, self.outputStride) = (leftStride ?? depth, outputStride ?? columns)
    }

    private static let block = TensorShape.channelBlock
    var blocks: Int { TensorShape.blockCount(columns) }
    /// Floats of a packed right side.
    var packedCount: Int { blocks * depth * Self.block }
    /// Floats of scratch memory for ``run(_:_:blocks:bias:to:scratch:kernels:)``: a block of columns that is not full.
    var scratchCount: Int { columns % Self.block == 0 ? 0 : rows * Self.block }

    /// Packs a right side as [block of columns][row][16 columns].
    ///
    /// - Parameter stride: how far apart its rows are; by default they follow each other.
    func pack(_ right: UnsafePointer<Float>, stride: Int? = nil, to packed: UnsafeMutablePointer<Float>) {
        for block in 0..<blocks {
            let count = min(Self.block, columns - block * Self.block)
            for row in 0..<depth {
                let to = packed + (block * depth + row) * Self.block
                to.update(from: right + row * (stride ?? columns) + block * Self.block, count: count)
                if count < Self.block { (to + count).update(repeating: 0, count: Self.block - count) }
            }
        }
    }

    /// Computes some blocks of columns of the product.
    ///
    /// - Parameter bias: a value per column, padded to whole blocks.
    func run(
        _ left: UnsafePointer<Float>, _ packed: UnsafePointer<Float>, blocks: Range<Int>, bias: UnsafePointer<Float>,
        to output: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget
    ) {
        let block = Self.block
        var product = lk_convolution()
        product.input = left
        product.input_block_stride = block
        product.pixel_step = leftStride
        product.input_channels = Int32(depth)
        product.weights = packed
        product.bias = bias
        product.output_block_stride = block
        product.output_pixel_stride = outputStride
        product.output_width = Int32(rows)
        (product.kernel_height, product.kernel_width) = (1, 1)
        let full = min(blocks.upperBound, columns / block)
        if blocks.lowerBound < full {
            product.output = output
            kernels.table.convolve(&product, Int32(blocks.lowerBound), Int32(full), 0, 1)
        }
        guard full < blocks.upperBound else { return }
        // The last block has gaps, which may not be written into the next row.
        product.weights = packed + full * depth * block
        product.bias = bias + full * block
        product.output = scratch
        product.output_pixel_stride = block
        kernels.table.convolve(&product, 0, 1, 0, 1)
        let count = columns - full * block
        for row in 0..<rows {
            (output + row * outputStride + full * block).update(from: scratch + row * block, count: count)
        }
    }
}
