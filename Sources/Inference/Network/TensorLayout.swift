/// Where a tensor's elements lie in a workspace. Strides count elements.
package struct TensorLayout: Sendable {
    enum Element: Sendable, Equatable {
        case float32
        case uint8(QuantizationParameters)
    }

    let shape: TensorShape
    let element: Element
    /// What the codes stand for; nil for a tensor in float32.
    var quantization: QuantizationParameters? {
        if case .uint8(let parameters) = element { parameters } else { nil }
    }
    /// Pixels of zeros around the image: the largest padding of its readers.
    let border: Int
    package let pixelStride: Int
    package let rowStride: Int
    let blockStride: Int
    let blocks: Int
    /// Floats per image, a whole number of cache lines.
    let count: Int

    init(shape: TensorShape, border: Int, element: Element = .float32) {
        self.shape = shape
        self.element = element
        self.border = border
        let block = TensorShape.channelBlock
        switch shape {
        case .image: (pixelStride, blocks) = (4, 1)
        case .map(let channels, _, _): (pixelStride, blocks) = (block, (channels + block - 1) / block)
        case .vector, .array: (pixelStride, blocks) = (1, 1)
        }
        if shape.isRowMajor {
            (rowStride, blockStride) = (shape.elementCount, shape.elementCount)
        } else {
            rowStride = (shape.width + 2 * border) * pixelStride
            blockStride = rowStride * (shape.height + 2 * border)
        }
        let floats = element == .float32 ? blocks * blockStride : (blocks * blockStride + 3) / 4
        count = (floats + block - 1) / block * block
    }

    /// A float32 map without a border, of whose blocks only some rows are in memory.
    init(shape: TensorShape, rowsInMemory: Int) {
        self.shape = shape
        (element, border) = (.float32, 0)
        pixelStride = TensorShape.channelBlock
        rowStride = shape.width * pixelStride
        blockStride = rowsInMemory * rowStride
        blocks = (shape.channels + TensorShape.channelBlock - 1) / TensorShape.channelBlock
        count = blocks * blockStride
    }

    /// The offset of pixel (0, 0) in a block.
    package var origin: Int { border * rowStride + border * pixelStride }

    /// The work of ``clearBorder(_:zero:)``.
    var borderOperationCount: Int {
        guard border > 0 else { return 0 }
        return TensorShape.operationCount(
            ofElements: blocks * (blockStride - shape.width * shape.height * pixelStride))
    }

    /// Writes the zeros around the image; the memory may have held another tensor.
    ///
    /// - Parameter zero: what stands for 0.
    func clearBorder<Value>(_ tensor: UnsafeMutablePointer<Value>, zero: Value) {
        guard border > 0 else { return }
        let inner = shape.width * pixelStride
        for block in 0..<blocks {
            let plane = tensor + block * blockStride
            // From the end of one row to the start of the next is one stretch.
            plane.update(repeating: zero, count: origin)
            for row in 0..<shape.height {
                let end = plane + origin + row * rowStride + inner
                let gap =
                    row == shape.height - 1 ? blockStride - origin - row * rowStride - inner : 2 * border * pixelStride
                end.update(repeating: zero, count: gap)
            }
        }
    }
}
