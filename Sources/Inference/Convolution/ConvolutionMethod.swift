import CKernels
import Compute

/// A way to compute a convolution.
protocol ConvolutionMethod: Sendable {
    /// The end of the layer's summary: “, Winograd”.
    var summary: String { get }
    /// The number of independent parts of the work for one image.
    var parts: Int { get }
    /// Floats of scratch memory per part.
    var scratchCount: Int { get }

    /// The region of the output that a part computes.
    func region(_ part: Int) -> MapRegion

    func run(_ part: Int, image: Int, in pass: LayerPass)
}

/// Some blocks and rows of a map.
struct MapRegion {
    var blocks: Range<Int>
    let rows: Range<Int>
}

extension TensorSlot {
    /// The address of the first element of a region of a float32 map.
    func floats(_ image: Int, _ region: MapRegion) -> UnsafeMutablePointer<Float> {
        floats(image) + offset(ofBlock: region.blocks.lowerBound, row: region.rows.lowerBound)
    }

    /// The address of the first element of a region of an int8 map.
    func bytes(_ image: Int, _ region: MapRegion) -> UnsafeMutablePointer<UInt8> {
        bytes(image) + offset(ofBlock: region.blocks.lowerBound, row: region.rows.lowerBound)
    }
}

/// A method whose parts are blocks and rows.
protocol BlockwiseConvolution: ConvolutionMethod {
    var blockParts: BlockParts { get }
}

extension BlockwiseConvolution {
    var summary: String { "" }
    var parts: Int { blockParts.count }
    var scratchCount: Int { 0 }

    func region(_ part: Int) -> MapRegion { blockParts[part] }
}

/// What a convolution computes, apart from its weights.
struct ConvolutionGeometry: Sendable {
    let inputChannels: Int
    let outputs: Int
    /// The width of the output.
    let width: Int
    /// The height of the output.
    let height: Int
    let kernel: NetworkGraph.Extent
    let stride: NetworkGraph.Extent
    let padding: NetworkGraph.Padding
    let dilation: NetworkGraph.Extent
    let groups: Int
    let relu: Bool
    /// Whether a part of the output is computed in float32 and then quantized; such parts should stay in a cache.
    let isStaged: Bool

    var inputBlocks: Int { TensorShape.blockCount(inputChannels) }
    var outputBlocks: Int { TensorShape.blockCount(outputs) }
    /// Taps of the kernel.
    var taps: Int { kernel.height * kernel.width }
    /// Input channels that an output depends on.
    var inputsPerGroup: Int { inputChannels / groups }
    var outputsPerGroup: Int { outputs / groups }
    /// Rows of the input that so many rows of the output read.
    func inputRows(of rows: Int) -> Int { (rows - 1) * stride.height + (kernel.height - 1) * dilation.height + 1 }
    /// Whether every channel has a filter of its own.
    var isDepthwise: Bool { groups == inputChannels && outputs == inputChannels && groups > 1 }

    /// The distance of the tap (0, 0) of the output pixel (0, 0) from a tensor's beginning.
    func firstTap(in input: TensorLayout) -> Int {
        (input.border - padding.top) * input.rowStride + (input.border - padding.left) * input.pixelStride
    }

    /// The distance from the taps of an output to the taps of the output below it.
    func rowStep(in input: TensorLayout) -> Int { stride.height * input.rowStride }
    /// The distance from the taps of an output to the taps of the next output in its row.
    func pixelStep(in input: TensorLayout) -> Int { stride.width * input.pixelStride }
    func tapRowStride(in input: TensorLayout) -> Int { dilation.height * input.rowStride }
    func tapStride(in input: TensorLayout) -> Int { dilation.width * input.pixelStride }

    /// What the float32 kernel needs for a region besides the weights and the address of the output.
    func arguments(_ region: MapRegion, image: Int, in pass: LayerPass) -> lk_convolution {
        let (input, output) = (pass.input.layout, pass.output.layout)
        var convolution = lk_convolution()
        convolution.input = UnsafePointer(
            pass.input.floats(image) + firstTap(in: input) + region.rows.lowerBound * rowStep(in: input))
        convolution.residual = pass.residual.map { UnsafePointer($0.floats(image, region)) }
        convolution.input_block_stride = input.blockStride
        convolution.row_step = rowStep(in: input)
        convolution.pixel_step = pixelStep(in: input)
        convolution.tap_row_stride = tapRowStride(in: input)
        convolution.tap_stride = tapStride(in: input)
        convolution.input_channels = Int32(inputChannels)
        convolution.output_block_stride = output.blockStride
        convolution.output_row_stride = output.rowStride
        convolution.output_pixel_stride = output.pixelStride
        convolution.output_width = Int32(width)
        convolution.kernel_height = Int32(kernel.height)
        convolution.kernel_width = Int32(kernel.width)
        convolution.relu = relu
        return convolution
    }

    /// Sets what the int8 kernel adds and writes, and where.
    func set(
        _ convolution: inout lk_quantized_convolution, _ region: MapRegion, image: Int, in pass: LayerPass,
        hasInt8Output: Bool
    ) {
        if let residual = pass.residual {
            switch residual.layout.element {
            case .uint8: convolution.quantized_residual = UnsafePointer(residual.bytes(image, region))
            case .float32: convolution.residual = UnsafePointer(residual.floats(image, region))
            }
        }
        if hasInt8Output {
            convolution.quantized_output = pass.output.bytes(image, region)
        } else {
            convolution.output = pass.output.floats(image, region)
        }
        convolution.output_block_stride = pass.output.layout.blockStride
        convolution.output_row_stride = pass.output.layout.rowStride
        convolution.output_width = Int32(width)
        convolution.relu = relu
    }
}

/// Parts of two output blocks, as many as a kernel's widest tile has, and about a quarter of the rows: enough parts for
/// the threads, and weights are still reused. For narrow maps, which have many blocks, a part has all rows. Depthwise
/// convolutions have a tile of one block.
struct BlockParts: Sendable {
    private let blocksPerPart: Int
    /// The largest width at which a tile may span several rows.
    private static let narrow = 7
    /// The most floats of a part that is quantized afterwards: 64 KB, a quarter of a small second-level cache.
    private static let stagedFloats = 16_384
    let blocks: Int
    let rows: Int
    /// Rows of the largest part.
    let rowsPerPart: Int
    /// Floats of a row of a block.
    private let rowCount: Int
    private let rowParts: Int

    init(_ geometry: ConvolutionGeometry) {
        blocksPerPart = geometry.isDepthwise ? 1 : 2
        blocks = geometry.outputBlocks
        rows = geometry.height
        rowCount = geometry.width * TensorShape.channelBlock
        let rowsAtMost =
            geometry.isStaged ? max(1, Self.stagedFloats / (blocksPerPart * rowCount)) : geometry.height
        rowsPerPart =
            geometry.width <= Self.narrow ? geometry.height : min(max(1, (geometry.height + 3) / 4), rowsAtMost)
        rowParts = (geometry.height + rowsPerPart - 1) / rowsPerPart
    }

    var count: Int { (blocks + blocksPerPart - 1) / blocksPerPart * rowParts }

    /// Floats of the largest part.
    var largestCount: Int { blocksPerPart * rowsPerPart * rowCount }

    subscript(part: Int) -> MapRegion {
        let block = part / rowParts * blocksPerPart
        let row = part % rowParts * rowsPerPart
        return MapRegion(
            blocks: block..<min(block + blocksPerPart, blocks), rows: row..<min(row + rowsPerPart, rows))
    }
}

/// A part of a convolution's output in float32, before it is quantized.
struct StagedOutput: Sendable {
    private let parameters: QuantizationParameters
    private let activation: NetworkGraph.Activation?
    private let width: Int
    /// 16 KB, half of the first-level cache.
    private static let cachedFloats = 4096

    /// - Parameters:
    ///   - parameters: what the codes of the output stand for.
    ///   - width: the pixels of a row of the output.
    init(_ parameters: QuantizationParameters, activation: NetworkGraph.Activation?, width: Int) {
        (self.parameters, self.activation, self.width) = (parameters, activation, width)
    }

    /// A float32 tensor of which only a region is in memory.
    func slot(_ region: MapRegion, shape: TensorShape, memory: UnsafeMutablePointer<Float>) -> TensorSlot {
        TensorSlot(
            base: memory, imageStride: 0, layout: TensorLayout(shape: shape, rowsInMemory: region.rows.count),
            first: (region.blocks.lowerBound, region.rows.lowerBound))
    }

    /// Applies the activation to the region in `memory`, and writes its codes.
    func quantize(
        _ region: MapRegion, in memory: UnsafeMutablePointer<Float>, to output: TensorSlot, image: Int,
        kernels: SIMDTarget
    ) {
        let (rows, layout) = (region.rows, output.layout)
        let rowCount = width * TensorShape.channelBlock
        // As many rows as the first-level cache holds between the activation and the codes. Rows without a border
        // between them are quantized at once.
        let together = max(1, min(rows.count, Self.cachedFloats / rowCount))
        let joined = layout.border == 0 ? together : 1
        let function = activation.map(\.kernel)
        var from = memory
        for block in region.blocks {
            let codes = output.bytes(image) + output.offset(ofBlock: block, row: 0)
            for first in stride(from: rows.lowerBound, to: rows.upperBound, by: together) {
                let end = min(first + together, rows.upperBound)
                if var function { kernels.table.activate(&function, from, (end - first) * rowCount, from) }
                for row in stride(from: first, to: end, by: joined) {
                    let count = min(joined, end - row) * rowCount
                    kernels.table.quantize(
                        from, 1 / parameters.scale, parameters.zeroPoint, count, codes + row * layout.rowStride)
                    from += count
                }
            }
        }
    }
}
