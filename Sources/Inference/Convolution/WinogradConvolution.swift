import CKernels
import Compute

/// A 3×3 convolution of stride 1 and padding 1 by F(4×4, 3×3): 36 products for sixteen outputs instead
/// of 144, for weights that are four times as large.
///
/// Lavin, Gray: "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016). Tiles of the input are
/// transformed, 36 components are each multiplied with their weights (1×1 convolutions over the tiles),
/// and the products transformed back.
struct WinogradConvolution: ConvolutionMethod {
    private static let outputSide = 4
    private static let side = 6
    private static let components = side * side
    /// Tiles whose products stay in registers and whose transforms stay in the second-level cache.
    private static let tilesPerPart = 14
    /// Output blocks of a part: its input is transformed once for all of them.
    private static let blocksPerPart = 4

    private let geometry: ConvolutionGeometry
    /// [component][output block][input channel][16 output channels]
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    private let noBias: AlignedFloats
    private let tileColumns: Int
    private let tileRowsPerPart: Int
    private let rowParts: Int

    /// Whether the saved products outweigh the larger weights. If few outputs share a weight, reading it takes longer
    /// than multiplying with it.
    static func isFaster(for geometry: ConvolutionGeometry) -> Bool {
        geometry.kernel == 3 && geometry.stride == 1 && geometry.padding == 1 && geometry.dilation == 1
            && geometry.groups == 1
            && min(geometry.width, geometry.height) >= 8
            && geometry.inputChannels >= 16 && geometry.outputs >= 16
    }

    /// - Precondition: ``isFaster(for:)``.
    init(_ geometry: ConvolutionGeometry, weights: StoredNumbers, bias: [Float]) {
        precondition(Self.isFaster(for: geometry), "a 3×3 convolution of stride 1 and padding 1")
        self.geometry = geometry
        let (inputs, block) = (geometry.inputChannels, TensorShape.channelBlock)
        let component = geometry.outputBlocks * inputs * block
        let packed = AlignedFloats(count: Self.components * component)
        weights.forEachBlock(of: geometry.outputs, products: inputs * geometry.taps) { index, numbers, format, count in
            lk_pack_winograd_weights(
                numbers, format, count, inputs, component, packed.pointer + index * inputs * block)
        }
        self.weights = packed
        self.bias = AlignedFloats(padding: bias, to: geometry.outputBlocks * TensorShape.channelBlock)
        noBias = AlignedFloats(count: geometry.outputBlocks * TensorShape.channelBlock)
        tileColumns = (geometry.width + Self.outputSide - 1) / Self.outputSide
        let tileRows = (geometry.height + Self.outputSide - 1) / Self.outputSide
        tileRowsPerPart = min(tileRows, max(1, Self.tilesPerPart / tileColumns))
        rowParts = (tileRows + tileRowsPerPart - 1) / tileRowsPerPart
    }

    private var outputParts: Int { (geometry.outputBlocks + Self.blocksPerPart - 1) / Self.blocksPerPart }
    private var tilesOfPart: Int { tileRowsPerPart * tileColumns }

    var summary: String { ", Winograd" }
    var parts: Int { rowParts * outputParts }

    var scratchCount: Int {
        Self.components * tilesOfPart * TensorShape.channelBlock
            * (geometry.inputBlocks + min(Self.blocksPerPart, geometry.outputBlocks))
    }

    func region(_ part: Int) -> MapRegion {
        let row = part / outputParts * tileRowsPerPart * Self.outputSide
        let block = part % outputParts * Self.blocksPerPart
        return MapRegion(
            blocks: block..<min(block + Self.blocksPerPart, geometry.outputBlocks),
            rows: row..<min(row + tileRowsPerPart * Self.outputSide, geometry.height))
    }

    func run(_ part: Int, image: Int, in pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        let (table, scratch) = (pass.kernels.table, pass.scratch)
        let block = TensorShape.channelBlock
        let region = region(part)
        let (row, firstBlock, blocks) = (region.rows.lowerBound, region.blocks.lowerBound, region.blocks.count)
        let left = geometry.height - row
        var winograd = lk_winograd(
            width: Int32(geometry.width), height: Int32(left),
            tile_rows: Int32(min(tileRowsPerPart, (left + Self.outputSide - 1) / Self.outputSide)),
            tile_columns: Int32(tileColumns))
        let tiles = Int(winograd.tile_rows) * tileColumns
        let inputComponent = geometry.inputBlocks * tiles * block
        let outputComponent = blocks * tiles * block
        let products = scratch + Self.components * inputComponent

        let source = UnsafePointer(pass.input.floats(image) + geometry.firstTap(in: input) + row * input.rowStride)
        table.winograd_input(
            &winograd, source, input.blockStride, input.rowStride, Int32(geometry.inputBlocks), scratch)

        var product = lk_convolution()
        product.input_block_stride = tiles * block
        product.pixel_step = block
        product.input_channels = Int32(geometry.inputChannels)
        product.bias = UnsafePointer(noBias.pointer)
        product.output_block_stride = tiles * block
        product.output_pixel_stride = block
        product.output_width = Int32(tiles)
        (product.kernel_height, product.kernel_width) = (1, 1)
        let blockWeights = geometry.inputChannels * block
        for component in 0..<Self.components {
            product.input = UnsafePointer(scratch + component * inputComponent)
            product.weights = UnsafePointer(
                weights.pointer + (component * geometry.outputBlocks + firstBlock) * blockWeights)
            product.output = products + component * outputComponent
            table.convolve(&product, 0, Int32(blocks), 0, 1)
        }

        table.winograd_output(
            &winograd, products, Int32(blocks), bias.pointer + firstBlock * block,
            pass.residual.map { UnsafePointer($0.floats(image, region)) }, pass.output.floats(image, region),
            output.blockStride, output.rowStride, geometry.relu)
    }
}
