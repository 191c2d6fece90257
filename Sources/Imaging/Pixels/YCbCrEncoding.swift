/// How luma and chroma encode red, green and blue.
public struct YCbCrEncoding: Sendable, Hashable {
    /// The weights of the colors in luma.
    public enum Matrix: String, Sendable, CaseIterable {
        /// ITU-R BT.601: JPEG, and standard-definition video.
        case bt601
        /// ITU-R BT.709: most cameras and screens.
        case bt709
        /// ITU-R BT.2020: ultra-high-definition video.
        case bt2020

        /// The weights of red and blue; that of green is the rest.
        var weights: (red: Double, blue: Double) {
            switch self {
            case .bt601: (0.299, 0.114)
            case .bt709: (0.2126, 0.0722)
            case .bt2020: (0.2627, 0.0593)
            }
        }
    }

    /// Which bytes are black and white.
    public enum Range: String, Sendable, CaseIterable {
        /// Luma 16...235, chroma 16...240.
        case video
        /// 0...255.
        case full
    }

    /// The weights of the colors.
    public var matrix: Matrix
    /// Which bytes are black and white.
    public var range: Range

    /// An encoding by its weights and its range.
    public init(matrix: Matrix, range: Range) {
        self.matrix = matrix
        self.range = range
    }

    /// What cameras and video decoders give in most cases.
    public static let bt709Video = YCbCrEncoding(matrix: .bt709, range: .video)
    /// What is in a JPEG file.
    public static let jpeg = YCbCrEncoding(matrix: .bt601, range: .full)
}

/// The conversion to RGB in integers, sixteen bits after the point.
struct YCbCrConversion {
    private static let bits = 16
    private let black: Int32
    private let luma: Int32
    private let redCr: Int32
    private let greenCb: Int32
    private let greenCr: Int32
    private let blueCb: Int32

    init(_ encoding: YCbCrEncoding) {
        let (red, blue) = encoding.matrix.weights
        let green = 1 - red - blue
        let isVideo = encoding.range == .video
        let (lumaScale, chromaScale) = isVideo ? (255.0 / 219, 255.0 / 224) : (1, 1)
        func fixed(_ value: Double) -> Int32 { Int32((value * Double(1 << Self.bits)).rounded()) }
        black = isVideo ? 16 : 0
        luma = fixed(lumaScale)
        redCr = fixed(2 * (1 - red) * chromaScale)
        blueCb = fixed(2 * (1 - blue) * chromaScale)
        greenCr = fixed(-2 * (1 - red) * red / green * chromaScale)
        greenCb = fixed(-2 * (1 - blue) * blue / green * chromaScale)
    }

    /// Writes red, green, blue and 255.
    @inline(__always)
    func write(y: UInt8, cb: UInt8, cr: UInt8, to pixel: UnsafeMutablePointer<UInt8>) {
        let light = (Int32(y) - black) * luma + (1 << (Self.bits - 1))
        let (u, v) = (Int32(cb) - 128, Int32(cr) - 128)
        pixel[0] = Self.byte(light + redCr * v)
        pixel[1] = Self.byte(light + greenCb * u + greenCr * v)
        pixel[2] = Self.byte(light + blueCb * u)
        pixel[3] = 255
    }

    @inline(__always)
    private static func byte(_ value: Int32) -> UInt8 { UInt8(truncatingIfNeeded: min(max(value >> bits, 0), 255)) }
}
