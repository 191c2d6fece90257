/// Parts of two output blocks, as many as a kernel's widest tile has, and about a quarter of the rows: enough parts for
/// the threads, and weights are still reused. For narrow maps, which have many blocks, a part has all rows. Depthwise
/// convolutions have a tile of one block.
struct BlockParts: Sendable {
    private let blocksPerPart: Int
    /// Up to this width a tile may span several rows.
    private static let narrow = 7
    /// The most floats of a part that is quantized afterwards: 64 KB, a quarter of a small second-level cache.
    private static let stagedFloats = 16_384
    let blocks: Int
    let rows: Int
    /// Of the largest part.
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

    subscript(part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) {
        let block = part / rowParts * blocksPerPart
        let row = part % rowParts * rowsPerPart
        return (
            Int32(block)..<Int32(min(block + blocksPerPart, blocks)),
            Int32(row)..<Int32(min(row + rowsPerPart, rows))
        )
    }
}
