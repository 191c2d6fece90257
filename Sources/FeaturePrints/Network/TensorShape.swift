import CKernels

/// What flows between layers.
enum TensorShape: Sendable, Equatable {
    /// The input image: RGB and a gap, four floats a pixel, inside a border of zeros.
    case image(width: Int, height: Int)
    /// Channels in blocks of sixteen: [block][row][column][16], inside a border of zeros.
    case map(channels: Int, width: Int, height: Int)
    case vector(length: Int)

    static let channelBlock = Int(LK_CHANNEL_BLOCK)

    var channels: Int {
        switch self {
        case .image: 3
        case .map(let channels, _, _): channels
        case .vector(let length): length
        }
    }

    var width: Int {
        switch self {
        case .image(let width, _), .map(_, let width, _): width
        case .vector: 1
        }
    }

    var height: Int {
        switch self {
        case .image(_, let height), .map(_, _, let height): height
        case .vector: 1
        }
    }

    var description: String {
        switch self {
        case .image(let width, let height): "3×\(height)×\(width)"
        case .map(let channels, let width, let height): "\(channels)×\(height)×\(width)"
        case .vector(let length): "\(length)"
        }
    }
}

/// Where a tensor's elements lie in a workspace. Strides count elements.
struct TensorLayout: Sendable {
    enum Element: Sendable { case float32, uint8 }

    let shape: TensorShape
    let element: Element
    /// Pixels of zeros around the image, as many as the widest padding that a reader wants.
    let border: Int
    let pixelStride: Int
    let rowStride: Int
    let blockStride: Int
    let blocks: Int
    /// Floats of one image's tensor, a whole number of cache lines.
    let count: Int

    init(shape: TensorShape, border: Int, element: Element = .float32) {
        self.shape = shape
        self.element = element
        self.border = border
        let block = TensorShape.channelBlock
        switch shape {
        case .image: (pixelStride, blocks) = (4, 1)
        case .map(let channels, _, _): (pixelStride, blocks) = (block, (channels + block - 1) / block)
        case .vector: (pixelStride, blocks) = (1, 1)
        }
        if case .vector(let length) = shape {
            (rowStride, blockStride) = (length, length)
        } else {
            rowStride = (shape.width + 2 * border) * pixelStride
            blockStride = rowStride * (shape.height + 2 * border)
        }
        let floats = element == .float32 ? blocks * blockStride : (blocks * blockStride + 3) / 4
        count = (floats + block - 1) / block * block
    }

    /// The offset of pixel (0, 0) in a block.
    var origin: Int { border * rowStride + border * pixelStride }

    /// Writes the zeros around the image; the memory may have held another tensor.
    func clearBorder<Value: ExpressibleByIntegerLiteral>(_ tensor: UnsafeMutablePointer<Value>) {
        guard border > 0 else { return }
        let inner = shape.width * pixelStride
        for block in 0..<blocks {
            let plane = tensor + block * blockStride
            // From the end of one row to the start of the next is one stretch.
            plane.update(repeating: 0, count: origin)
            for row in 0..<shape.height {
                let end = plane + origin + row * rowStride + inner
                let gap = row == shape.height - 1 ? blockStride - origin - row * rowStride - inner : 2 * border * pixelStride
                end.update(repeating: 0, count: gap)
            }
        }
    }
}
