/// Compositing of transparent pixels over a gray ground: c' = (c · a + g · (255 − a)) / 255, rounded to nearest.
package enum AlphaCompositing {
    @inline(__always)
    package static func overWhite(_ color: UInt8, alpha: UInt8) -> UInt8 { over(255, color, alpha: alpha) }

    @inline(__always)
    static func over(_ ground: UInt8, _ color: UInt8, alpha: UInt8) -> UInt8 {
        let sum = UInt32(color) * UInt32(alpha) + UInt32(ground) * (255 - UInt32(alpha))
        return UInt8((sum + 127) / 255)
    }

    /// A color that is multiplied with alpha. One that is larger than its alpha is none; over white it becomes white.
    @inline(__always)
    static func premultipliedOver(_ ground: UInt8, _ color: UInt8, alpha: UInt8) -> UInt8 {
        UInt8(clamping: UInt16(color) + UInt16(over(ground, 0, alpha: alpha)))
    }

    /// Packs `count` pixels of `colors` components and alpha into `colors` components, in place.
    ///
    /// - Parameter isPremultiplied: whether colors are multiplied with alpha.
    static func flatten(
        _ pixels: UnsafeMutableBufferPointer<UInt8>, count: Int, colors: Int, isPremultiplied: Bool, ground: UInt8
    ) {
        for index in 0..<count {
            let from = index * (colors + 1)
            let alpha = pixels[from + colors]
            for color in 0..<colors {
                let value = pixels[from + color]
                pixels[index * colors + color] =
                    isPremultiplied
                    ? premultipliedOver(ground, value, alpha: alpha) : over(ground, value, alpha: alpha)
            }
        }
    }
}

/// How much of a transparent image contrasts with white, black and gray: the ground that it is composited over.
///
/// The ground is white, as that of most pages, unless a third of what could be seen vanishes in it, as a white logo
/// does. Black is next, and gray where neither shows enough, as of a logo in black and white. The choice depends on the
/// pixels alone, so that an image has the same ground in the catalog and in a query.
struct GroundContrast {
    /// A contrast that is seen well; more of it does not count more.
    private static let enough: Int32 = 64
    /// Less contrast than this is not seen.
    private static let visible: Int32 = 8
    /// The pixels that are looked at along a side, at least.
    private static let samples = 256

    /// The sum of the contrasts, and the largest one.
    private typealias Measure = (sum: Int, largest: Int32)
    private var white: Measure = (0, 0)
    private var black: Measure = (0, 0)
    private var gray: Measure = (0, 0)

    /// Whether something is to be seen over the ground.
    var isVisible: Bool { max(white.largest, black.largest) >= Self.visible }

    var ground: UInt8 {
        let most = max(white.sum, black.sum, gray.sum)
        if white.sum * 3 >= most * 2 { return 255 }
        return black.sum * 8 >= most * 7 ? 0 : 128
    }

    /// Measures pixels in a grid, and all of them if nothing is visible in the grid. O(1), or O(pixels).
    ///
    /// - Parameter pixel: the smallest and the largest color, and alpha, of the pixel in a column and a row.
    init(width: Int, height: Int, isPremultiplied: Bool, pixel: (Int, Int) -> (UInt8, UInt8, UInt8)) {
        func measure(_ across: Int, _ down: Int) {
            for y in stride(from: 0, to: height, by: down) {
                for x in stride(from: 0, to: width, by: across) {
                    let (low, high, alpha) = pixel(x, y)
                    if alpha != 0 { add(low, high, alpha: alpha, isPremultiplied: isPremultiplied) }
                }
            }
        }
        let (across, down) = (max(1, width / Self.samples), max(1, height / Self.samples))
        measure(across, down)
        if !isVisible, max(across, down) > 1 { measure(1, 1) }
    }

    private mutating func add(_ low: UInt8, _ high: UInt8, alpha: UInt8, isPremultiplied: Bool) {
        let alpha = Int32(alpha)
        let low = isPremultiplied ? min(Int32(low), alpha) : Int32(low) * alpha / 255
        let high = isPremultiplied ? min(Int32(high), alpha) : Int32(high) * alpha / 255
        let middle = 128 * alpha / 255
        Self.add(alpha - low, to: &white)
        Self.add(high, to: &black)
        Self.add(max(abs(low - middle), abs(high - middle)), to: &gray)
    }

    private static func add(_ contrast: Int32, to measure: inout Measure) {
        measure.sum += Int(min(contrast, enough))
        measure.largest = max(measure.largest, contrast)
    }
}

extension PixelBuffer {
    /// The image as it is embedded and shown: itself, unless it is transparent and too much of it would vanish in
    /// white. Then it is composited over a ground that it contrasts with.
    ///
    /// - Complexity: O(1) for an image that stays; O(pixels) for another one.
    package func overContrastingGround() -> PixelBuffer {
        guard alpha != .ignored, hasTransparency else { return self }
        let offsets = format.redGreenBlueOffsets
        let isPremultiplied = alpha == .premultiplied
        let bytes: [UInt8]? = withUnsafeBytes { source in
            func at(_ x: Int, _ y: Int) -> Int { y * bytesPerRow + x * format.bytesPerPixel }
            let ground = GroundContrast(width: width, height: height, isPremultiplied: isPremultiplied) { x, y in
                let (r, g, b) = (
                    source[at(x, y) + offsets.red], source[at(x, y) + offsets.green], source[at(x, y) + offsets.blue]
                )
                return (min(r, g, b), max(r, g, b), source[at(x, y) + 3])
            }.ground
            guard ground != 255 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: width * height * 3) { out, count in
                for y in 0..<height {
                    for x in 0..<width {
                        let (from, to) = (at(x, y), (y * width + x) * 3)
                        let alpha = source[from + 3]
                        for (color, offset) in [offsets.red, offsets.green, offsets.blue].enumerated() {
                            let value = source[from + offset]
                            out[to + color] =
                                isPremultiplied
                                ? AlphaCompositing.premultipliedOver(ground, value, alpha: alpha)
                                : AlphaCompositing.over(ground, value, alpha: alpha)
                        }
                    }
                }
                count = width * height * 3
            }
        }
        guard let bytes else { return self }
        guard var result = try? PixelBuffer(bytes, width: width, height: height, format: .rgb8, colorSpace: colorSpace)
        else { preconditionFailure("\(bytes.count) bytes are an image of \(width)×\(height)") }
        result.sourceSize = sourceSize
        result.decodingNotes = decodingNotes
        return result
    }

    /// Whether a pixel of a coarse grid is not opaque: most frames are opaque although their format has alpha.
    private var hasTransparency: Bool {
        let (across, down) = (max(1, width / 64), max(1, height / 64))
        return withUnsafeBytes { source in
            stride(from: 0, to: height, by: down).contains { y in
                stride(from: 0, to: width, by: across).contains { x in
                    source[y * bytesPerRow + x * format.bytesPerPixel + 3] != 255
                }
            }
        }
    }
}
