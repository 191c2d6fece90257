import Lookalike

/// A small image with keypoints.
public func patternImage(seed: Int) -> PixelBuffer {
    let side = 96
    let pixels = (0..<(side * side)).flatMap { at -> [UInt8] in
        let (x, y) = (at % side / 8, at / side / 8)
        let value = (x * 37 + y * 91 + x * y * seed * 13 + seed * 7) & 255
        return [UInt8(value), UInt8(value * 3 & 255), UInt8(255 - value)]
    }
    do {
        return try PixelBuffer(pixels, width: side, height: side, format: .rgb8)
    } catch {
        fatalError("\(pixels.count) bytes are an image: \(error)")
    }
}
