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

    /// The work of reading or computing so many elements, in multiply-adds: those are computed sixteen at a time, and
    /// elements perhaps one at a time.
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

    /// Whether the elements lie one after another, in row-major order.
    var isRowMajor: Bool {
        switch self {
        case .vector, .array: true
        case .image, .map: false
        }
    }
}
