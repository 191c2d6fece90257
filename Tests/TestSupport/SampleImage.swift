import Foundation
public import Imaging

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

extension SampleImage {
    /// Discs and turned rectangles of many sizes with smooth edges, set by the seed: an image with local features.
    public static func shapes(
        seed: UInt64, width: Int = 320, height: Int = 320, count: Int = 110
    ) -> PixelBuffer {
        var random = SeededGenerator(seed: seed &* 1009 &+ 17)
        func color() -> SIMD3<Float> {
            SIMD3(
                .random(in: 0...255, using: &random), .random(in: 0...255, using: &random),
                .random(in: 0...255, using: &random))
        }
        var pixels = [SIMD3<Float>](repeating: color(), count: width * height)
        for index in 0..<count {
            let isDisc = Bool.random(using: &random)
            let fill = color()
            // Large ones first, small ones on top.
            let size = Float(max(width, height)) * 0.22 * (1 - 0.85 * Float(index) / Float(count))
            let half = SIMD2(
                Float.random(in: 0.3...1, using: &random) * size, Float.random(in: 0.3...1, using: &random) * size)
            let center = SIMD2(
                Float.random(in: 0...Float(width), using: &random), Float.random(in: 0...Float(height), using: &random))
            let turn = Float.random(in: 0...(2 * .pi), using: &random)
            let (cosine, sine) = (cos(turn), sin(turn))
            let reach = (half.x + half.y) + 2
            let rows = max(0, Int(center.y - reach))..<max(0, min(height, Int(center.y + reach)))
            let columns = max(0, Int(center.x - reach))..<max(0, min(width, Int(center.x + reach)))
            for y in rows {
                for x in columns {
                    let d = SIMD2(Float(x) + 0.5, Float(y) + 0.5) - center
                    let distance: Float
                    if isDisc {
                        distance = (d * d).sum().squareRoot() - half.x
                    } else {
                        let across = abs(cosine * d.x + sine * d.y) - half.x
                        distance = max(across, abs(cosine * d.y - sine * d.x) - half.y)
                    }
                    let share = min(max(0.5 - distance, 0), 1)
                    pixels[y * width + x] = pixels[y * width + x] * (1 - share) + fill * share
                }
            }
        }
        let bytes = pixels.flatMap { [UInt8($0.x), UInt8($0.y), UInt8($0.z)] }
        guard let image = try? PixelBuffer(bytes, width: width, height: height, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return image
    }
}
