import CKernels

/// The shape of a tensor between layers.
enum TensorShape: Sendable, Equatable {
    /// The input image: RGB and a gap, four floats per pixel, inside a border of zeros.
    case image(width: Int, height: Int)
    /// Channels in blocks of sixteen: [block][row][column][16], inside a border of zeros.
    case map(channels: Int, width: Int, height: Int)
    case vector(length: Int)
    /// Any other shape, in row-major order. The first extent of most is 1, the image.
    case array([Int])

    static let channelBlock = Int(LK_CHANNEL_BLOCK)

    /// Blocks that so many channels fill, the last one perhaps in part.
    static func blockCount(_ channels: Int) -> Int { (channels + channelBlock - 1) / channelBlock }
    /// Channels of whole blocks.
    static func padded(_ channels: Int) -> Int { blockCount(channels) * channelBlock }

    /// The work of reading or computing so many elements, in multiply-adds: multiply-adds are computed sixteen at a
    /// time, elements perhaps one at a time.
    static func operationCount(ofElements count: Int) -> Int { count * channelBlock }

    var channels: Int {
        switch self {
        case .image: 3
        case .map(let channels, _, _): channels
        case .vector(let length): length
        case .array(let extents): extents.last ?? 1
        }
    }

    var width: Int {
        switch self {
        case .image(let width, _), .map(_, let width, _): width
        case .vector, .array: 1
        }
    }

    var height: Int {
        switch self {
        case .image(_, let height), .map(_, _, let height): height
        case .vector, .array: 1
        }
    }

    var description: String {
        switch self {
        case .image(let width, let height): "3×\(height)×\(width)"
        case .map(let channels, let width, let height): "\(channels)×\(height)×\(width)"
        case .vector(let length): "\(length)"
        case .array(let extents): extents.map(String.init).joined(separator: "×")
        }
    }

    /// The shape of a tensor in row-major order: a vector if it is one row.
    init(extents: [Int]) {
        self = extents.count == 2 && extents[0] == 1 ? .vector(length: extents[1]) : .array(extents)
    }

    /// The extent of every axis, the image's first.
    var extents: [Int] {
        switch self {
        case .image(let width, let height): [1, 3, height, width]
        case .map(let channels, let width, let height): [1, channels, height, width]
        case .vector(let length): [1, length]
        case .array(let extents): extents
        }
    }

    /// The number of elements, without gaps and borders.
    var elementCount: Int { extents.reduce(1, *) }

    /// Floats of scratch memory that reading the tensor in row-major order takes.
    var rowMajorScratch: Int { isRowMajor ? 0 : elementCount }

    /// Whether the elements lie one after another, in row-major order.
    var isRowMajor: Bool {
        switch self {
        case .vector, .array: true
        case .image, .map: false
        }
    }
}

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
        (self.shape, self.element, self.border) = (shape, element, border)
        let block = TensorShape.channelBlock
        switch shape {
        case .image: (pixelStride, blocks) = (4, 1)
        case .map(let channels, _, _): (pixelStride, blocks) = (block, TensorShape.blockCount(channels))
        case .vector, .array: (pixelStride, blocks) = (1, 1)
        }
        if shape.isRowMajor {
            (rowStride, blockStride) = (shape.elementCount, shape.elementCount)
        } else {
            rowStride = (shape.width + 2 * border) * pixelStride
            blockStride = rowStride * (shape.height + 2 * border)
        }
        let floats = element == .float32 ? blocks * blockStride : (blocks * blockStride + 3) / 4
        count = TensorShape.padded(floats)
    }

    /// A float32 map without a border, of whose blocks only some rows are in memory.
    init(shape: TensorShape, rowsInMemory: Int) {
        self.shape = shape
        (element, border) = (.float32, 0)
        pixelStride = TensorShape.channelBlock
        rowStride = shape.width * pixelStride
        blockStride = rowsInMemory * rowStride
        blocks = TensorShape.blockCount(shape.channels)
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
            // The gap from the end of one row to the start of the next is one stretch.
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
