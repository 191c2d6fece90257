/// Parts of two output blocks, as many as a kernel's widest tile has, and about a quarter of the rows: enough parts for
/// the threads, and weights are still reused. For narrow maps, which have many blocks, a part has all rows.
struct BlockParts: Sendable {
    private static let blocksPerPart = 2
    /// Up to this width a tile may span several rows.
    private static let narrow = 7
    let blocks: Int
    let rows: Int
    private let rowsPerPart: Int
    private let rowParts: Int

    init(_ geometry: ConvolutionGeometry) {
        blocks = geometry.outputBlocks
        rows = geometry.height
        rowsPerPart = geometry.width <= Self.narrow ? geometry.height : max(1, (geometry.height + 3) / 4)
        rowParts = (geometry.height + rowsPerPart - 1) / rowsPerPart
    }

    var count: Int { (blocks + Self.blocksPerPart - 1) / Self.blocksPerPart * rowParts }

    subscript(part: Int) -> (blocks: Range<Int32>, rows: Range<Int32>) {
        let block = part / rowParts * Self.blocksPerPart
        let row = part % rowParts * rowsPerPart
        return (
            Int32(block)..<Int32(min(block + Self.blocksPerPart, blocks)),
            Int32(row)..<Int32(min(row + rowsPerPart, rows))
        )
    }
}
