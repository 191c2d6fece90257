/// Parts of a tensor for layers that treat every element alike: a map's blocks, or pieces of an array.
enum ElementParts {
    private static let piece = 16_384

    static func count(_ shape: TensorShape) -> Int {
        if shape.isRowMajor { return (shape.elementCount + piece - 1) / piece }
        return (shape.channels + TensorShape.channelBlock - 1) / TensorShape.channelBlock
    }

    /// Calls `body` with the offsets of consecutive elements in both tensors, and with their number; the gaps of a last
    /// block are among them.
    ///
    /// - Precondition: both have the same shape.
    static func forEachRow(
        of part: Int, _ input: TensorLayout, _ output: TensorLayout,
        _ body: (_ from: Int, _ to: Int, _ count: Int) -> Void
    ) {
        let shape = output.shape
        guard !shape.isRowMajor else {
            let start = part * piece
            body(start, start, min(piece, shape.elementCount - start))
            return
        }
        for row in 0..<shape.height {
            body(
                input.origin + part * input.blockStride + row * input.rowStride,
                output.origin + part * output.blockStride + row * output.rowStride, shape.width * output.pixelStride)
        }
    }
}
