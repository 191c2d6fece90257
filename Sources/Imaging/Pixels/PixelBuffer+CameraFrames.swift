extension PixelBuffer {
    /// Converts a camera frame of luma and interleaved chroma at half the size: NV12, or `420YpCbCr8BiPlanar`.
    ///
    /// ```swift
    /// let frame = try PixelBuffer(
    ///     nv12: PixelPlane(luma, bytesPerRow: 2048), chroma: PixelPlane(chroma, bytesPerRow: 2048), width: 1920,
    ///     height: 1080)
    /// ```
    ///
    /// Chroma is not interpolated: four pixels share a sample. For odd sizes the last column and row of chroma cover
    /// one pixel.
    /// - Parameters:
    ///   - luma: a byte per pixel.
    ///   - chroma: Cb and Cr of each square of four pixels.
    ///   - encoding: the meaning of the bytes.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or a plane is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        nv12 luma: PixelPlane, chroma: PixelPlane, width: Int, height: Int, encoding: YCbCrEncoding = .bt709Video
    ) throws(PixelBufferError) {
        let frame = try Frame(width: width, height: height, encoding)
        self = try luma.withRows(of: width, count: height, named: "luma") { y, yStride throws(PixelBufferError) in
            try chroma.withRows(of: frame.chromaWidth * 2, count: frame.chromaHeight, named: "chroma") { c, stride in
                frame.pixels(luma: (y, yStride), cb: (c, stride), cr: (c + 1, stride), step: 2)
            }
        }
    }

    /// Converts a camera or video frame of three planes, chroma at half the size: I420, or `420YpCbCr8Planar`.
    ///
    /// For YV12 pass the planes in the order of their names. Otherwise the frame is converted like one of
    /// ``init(nv12:chroma:width:height:encoding:)``.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or a plane is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        i420 luma: PixelPlane, cb: PixelPlane, cr: PixelPlane, width: Int, height: Int,
        encoding: YCbCrEncoding = .bt709Video
    ) throws(PixelBufferError) {
        let frame = try Frame(width: width, height: height, encoding)
        let (columns, rows) = (frame.chromaWidth, frame.chromaHeight)
        self = try luma.withRows(of: width, count: height, named: "luma") { y, yStride throws(PixelBufferError) in
            try cb.withRows(of: columns, count: rows, named: "Cb") { u, uStride throws(PixelBufferError) in
                try cr.withRows(of: columns, count: rows, named: "Cr") { v, vStride in
                    frame.pixels(luma: (y, yStride), cb: (u, uStride), cr: (v, vStride), step: 1)
                }
            }
        }
    }
}

/// The size of a frame, and the conversion of its samples.
private struct Frame {
    let width: Int
    let height: Int
    let conversion: YCbCrConversion

    var chromaWidth: Int { width / 2 + width % 2 }
    var chromaHeight: Int { height / 2 + height % 2 }

    /// - Throws: ``PixelBufferError`` for a size without pixels, or with more bytes than an integer counts.
    init(width: Int, height: Int, _ encoding: YCbCrEncoding) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixels <= Int.max / 8 else { throw .tooFewBytes(needed: nil, given: 0) }
        (self.width, self.height) = (width, height)
        conversion = YCbCrConversion(encoding)
    }

    /// Converts planes that are known to hold the samples.
    ///
    /// - Parameter step: the distance from a sample of chroma to the next in its row.
    @inline(__always)
    func pixels(
        luma: (rows: UnsafePointer<UInt8>, stride: Int), cb: (rows: UnsafePointer<UInt8>, stride: Int),
        cr: (rows: UnsafePointer<UInt8>, stride: Int), step: Int
    ) -> PixelBuffer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: width * height * 4, alignment: 64)
        let pixels = memory.bindMemory(to: UInt8.self)
        if let base = pixels.baseAddress {
            for row in 0..<height {
                let y = luma.rows + row * luma.stride
                let (u, v) = (cb.rows + row / 2 * cb.stride, cr.rows + row / 2 * cr.stride)
                let out = base + row * width * 4
                for x in 0..<width {
                    conversion.write(y: y[x], cb: u[x / 2 * step], cr: v[x / 2 * step], to: out + 4 * x)
                }
            }
        }
        return PixelBuffer(owning: memory, width: width, height: height, format: .rgba8, release: { $0?.deallocate() })
    }
}

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

        /// The weights of red and blue; green has the rest.
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

    /// The encoding of most cameras and video decoders.
    public static let bt709Video = YCbCrEncoding(matrix: .bt709, range: .video)
    /// The encoding of JPEG files.
    public static let jpeg = YCbCrEncoding(matrix: .bt601, range: .full)
}

/// The conversion to RGB in integers, sixteen bits after the point.
private struct YCbCrConversion {
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
