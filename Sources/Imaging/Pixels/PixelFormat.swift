/// The layout of the bytes of a pixel, eight bits per component.
public enum PixelFormat: String, Sendable, CaseIterable {
    /// Blue, green, red, alpha: the format of Mac screenshots and most camera frames.
    case bgra8
    /// Red, green, blue, alpha.
    case rgba8
    /// Red, green, blue.
    case rgb8
    /// One luminance byte.
    case gray8

    /// The bytes of a pixel: 4, 3 or 1.
    public var bytesPerPixel: Int {
        switch self {
        case .bgra8, .rgba8: 4
        case .rgb8: 3
        case .gray8: 1
        }
    }

    /// Whether the fourth byte of a pixel may be alpha.
    public var hasAlpha: Bool { self == .bgra8 || self == .rgba8 }

    /// The byte offsets of red, green and blue in a pixel.
    public var redGreenBlueOffsets: (red: Int, green: Int, blue: Int) {
        switch self {
        case .bgra8: (2, 1, 0)
        case .rgba8, .rgb8: (0, 1, 2)
        case .gray8: (0, 0, 0)
        }
    }
}

/// The meaning of the fourth byte of a pixel. Transparent pixels are composited over white.
public enum AlphaMode: String, Sendable, CaseIterable {
    /// Colors are already multiplied with alpha, as Core Graphics and Core Video keep them.
    case premultiplied
    /// Colors are independent of alpha, as PNG keeps them.
    case straight
    /// The byte means nothing; every pixel is opaque.
    case ignored
}

/// The conversion of uncalibrated inks to RGB, as image viewers without a color profile show them: r = c' · k' / 255,
/// where c' and k' are the shares of paper that the inks leave uncovered, times 255.
enum InkConversion {
    static func rgb(fromCMYK pixels: UnsafeMutableBufferPointer<UInt8>, count: Int, inverted: Bool) {
        for index in 0..<count {
            let from = index * 4
            let black = inverted ? pixels[from + 3] : 255 - pixels[from + 3]
            for color in 0..<3 {
                let ink = inverted ? pixels[from + color] : 255 - pixels[from + color]
                pixels[index * 3 + color] = UInt8((UInt32(ink) * UInt32(black) + 127) / 255)
            }
        }
    }
}
