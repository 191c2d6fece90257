import Lookalike

/// Inputs from a formula; their contents do not affect the time.
enum QuickInputs {
    static let dimension = 256

    static func screen() -> PixelBuffer { image(width: 5120, height: 2880, format: .bgra8) }

    static func crop() -> PixelBuffer { image(width: 192, height: 192, format: .rgb8) }

    private static func image(width: Int, height: Int, format: PixelFormat) -> PixelBuffer {
        let row = width * format.bytesPerPixel
        let bytes = [UInt8](unsafeUninitializedCapacity: row * height) { buffer, count in
            for index in 0..<(row * height) { buffer[index] = UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 13) }
            count = row * height
        }
        guard let image = try? PixelBuffer(bytes, width: width, height: height, format: format, alpha: .ignored) else {
            preconditionFailure("\(bytes.count) bytes are an image of \(width)×\(height)")
        }
        return image
    }

    /// Nearly orthogonal unit vectors.
    static func rows(_ count: Int) -> [Float] {
        var state: UInt64 = 1
        var rows = [Float](repeating: 0, count: count * dimension)
        for row in 0..<count {
            var squares: Float = 0
            for index in (row * dimension)..<((row + 1) * dimension) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let value = Float(Int32(truncatingIfNeeded: state >> 32)) * 0x1p-31
                rows[index] = value
                squares += value * value
            }
            for index in (row * dimension)..<((row + 1) * dimension) { rows[index] /= squares.squareRoot() }
        }
        return rows
    }
}
