import CKernels

/// The shape of a tensor between layers.
enum TensorShape: Sendable, Equatable {
    /// The input image: RGB and a gap, four floats per pixel, inside a border of zeros.
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
