import Imaging

/// Generated images that a network tells apart.
public enum SampleImage {
    /// Coloured blocks and a gradient, both set by the seed.
    public static func blocks(seed: UInt64, width: Int = 96, height: Int = 80) -> PixelBuffer {
        var random = SeededGenerator(seed: seed)
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        let base = random.bytes(3)
        for y in 0..<height {
            for x in 0..<width {
                for c in 0..<3 { pixels[(y * width + x) * 3 + c] = UInt8((Int(base[c]) + x * (c + 1) / 2 + y) % 256) }
            }
        }
        for _ in 0..<9 {
            let color = random.bytes(3)
            let left = Int.random(in: 0..<(width - 8), using: &random)
            let top = Int.random(in: 0..<(height - 8), using: &random)
            for y in top..<min(height, top + Int.random(in: 8...32, using: &random)) {
                for x in left..<min(width, left + Int.random(in: 8...40, using: &random)) {
                    for c in 0..<3 { pixels[(y * width + x) * 3 + c] = color[c] }
                }
            }
        }
        guard let image = try? PixelBuffer(pixels, width: width, height: height, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return image
    }
}
