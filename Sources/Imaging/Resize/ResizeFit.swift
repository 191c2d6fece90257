/// Which part of an image a resized one shows.
public enum ResizeFit: Sendable, Hashable {
    /// The whole image, stretched to the other shape.
    case stretch
    /// The center of the image after its shorter side was resized to this many pixels.
    ///
    /// As Pillow and torchvision do it: the longer side gets as many whole pixels as fit, and an odd rest is one pixel
    /// more at the end.
    case center(shortestSide: Int)

    /// What an axis of the result shows of an axis of the image: from where, and how many pixels of the image one of
    /// the result stands for.
    func span(of source: Int, other: Int, target: Int) -> (start: Double, scale: Double) {
        switch self {
        case .stretch: return (0, Double(source) / Double(target))
        case .center(let shortest):
            let resized = source <= other ? shortest : Int(Double(shortest) * Double(source) / Double(other))
            let scale = Double(source) / Double(resized)
            return (Double((resized - target) / 2) * scale, scale)
        }
    }
}

/// How pixels of an image are weighed for a pixel of a resized one.
public enum ResizeFilter: String, Sendable, Hashable, Codable {
    /// A triangle, antialiased; what Pillow calls BILINEAR.
    case bilinear
    /// A cubic with the parameter −½ (Keys: "Cubic Convolution Interpolation for Digital Image Processing", IEEE
    /// Transactions on Acoustics, Speech, and Signal Processing, 1981), antialiased; what Pillow calls BICUBIC.
    case bicubic

    /// Where the filter ends, in pixels of the result.
    var support: Double {
        switch self {
        case .bilinear: 1
        case .bicubic: 2
        }
    }

    func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .bilinear: return max(0, 1 - x)
        case .bicubic: return Self.cubic(x, -0.5)
        }
    }

    /// The cubic of Keys with the parameter `a`, at a distance of 0 or more.
    package static func cubic(_ x: Double, _ a: Double) -> Double {
        if x < 1 { return ((a + 2) * x - (a + 3)) * x * x + 1 }
        return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0
    }
}
