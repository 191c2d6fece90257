import Imaging
import TestSupport
import Testing

/// The luma of the color resizer is the reference.
struct LumaResizerTests {
    private static func image(_ format: PixelFormat, _ alpha: AlphaMode, width: Int, height: Int) throws -> PixelBuffer
    {
        var random = SeededGenerator(seed: UInt64(width * 1000 + height))
        var bytes = random.bytes((width * format.bytesPerPixel + 3) * height)
        if format.hasAlpha, alpha == .premultiplied {
            for pixel in 0..<(bytes.count / 4) {
                for channel in 0..<3 {
                    bytes[4 * pixel + channel] = min(bytes[4 * pixel + channel], bytes[4 * pixel + 3])
                }
            }
        }
        // Rows of four-byte pixels stay aligned to pixels here; odd strides are for the other formats.
        let bytesPerRow = width * format.bytesPerPixel + (format.hasAlpha ? 0 : 3)
        return try PixelBuffer(
            bytes, width: width, height: height, bytesPerRow: bytesPerRow, format: format, alpha: alpha)
    }

    private static let shapes = [
        (61, 47, 61, 47), (61, 47, 33, 20), (40, 30, 77, 64), (1, 1, 5, 3), (530, 610, 40, 44), (900, 37, 64, 3),
    ]

    @Test(arguments: PixelFormat.allCases, AlphaMode.allCases)
    func agreesWithTheLumaOfTheColorResizer(format: PixelFormat, alpha: AlphaMode) throws {
        for (width, height, toWidth, toHeight) in Self.shapes {
            let image = try Self.image(format, alpha, width: width, height: height)
            let colors = Resizer(width: toWidth, height: toHeight).resize(image)
            let stride = toWidth + 7
            var gray = [Float](repeating: -9, count: stride * toHeight)
            gray.withUnsafeMutableBufferPointer {
                LumaResizer(width: toWidth, height: toHeight).resize(image, into: $0, stride: stride)
            }
            var worst: Float = 0
            for y in 0..<toHeight {
                for x in 0..<toWidth {
                    let at = 3 * (y * toWidth + x)
                    let luma = 0.299 * colors[at] + 0.587 * colors[at + 1] + 0.114 * colors[at + 2]
                    let error = abs(gray[y * stride + x] - luma)
                    if !(error <= worst) { worst = error }
                }
                #expect(gray[(y * stride + toWidth)..<((y + 1) * stride)].allSatisfy { $0 == -9 })
            }
            #expect(worst < 2e-5, "\(format), \(alpha), \(width)×\(height) to \(toWidth)×\(toHeight): \(worst)")
        }
    }
}
