import Compute
import Imaging

/// The luma of a resized image.
enum GrayImage {
    /// Rec. 601 weights: what JPEG calls Y.
    private static let weights: (red: Float, green: Float, blue: Float) = (0.299, 0.587, 0.114)

    /// Writes luma in 0...1, rows `stride` floats apart.
    static func write(
        _ image: PixelBuffer, width: Int, height: Int, into plane: UnsafeMutablePointer<Float>, stride: Int,
        simd: SIMDTarget
    ) {
        let (red, green, blue) = weights
        let layout = FloatImageLayout(rowStride: width * 3, pixelStride: 3, multiply: (red, green, blue))
        withUnsafeTemporaryAllocation(of: Float.self, capacity: width * height * 3) { pixels in
            Resizer(width: width, height: height, simd: simd).resize(image, into: pixels, layout: layout)
            guard let first = pixels.baseAddress else { return }
            for y in 0..<height {
                let (from, to) = (first + y * width * 3, plane + y * stride)
                for x in 0..<width { to[x] = from[3 * x] + from[3 * x + 1] + from[3 * x + 2] }
            }
        }
    }
}
