/// How the bytes of a pixel are laid out, eight bits per component.
public enum PixelFormat: String, Sendable, CaseIterable {
    /// Blue, green, red, alpha: the format of Mac screenshots and most camera frames.
    case bgra8
    /// Red, green, blue, alpha.
    case rgba8
    /// Red, green, blue.
    case rgb8
    /// One luminance byte.
    case gray8

    /// 4, 3 or 1.
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

/// What the fourth byte of a pixel means. Transparent pixels are composited over white.
public enum AlphaMode: String, Sendable, CaseIterable {
    /// Colors are already multiplied with alpha, as Core Graphics and Core Video keep them.
    case premultiplied
    /// Colors are independent of alpha, as PNG keeps them.
    case straight
    /// The byte means nothing; every pixel is opaque.
    case ignored
}
