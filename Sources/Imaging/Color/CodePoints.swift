/// Color primaries of ITU-T H.273 (coding-independent code points), table 2.
struct ColorPrimaries {
    let red: (x: Double, y: Double)
    let green: (x: Double, y: Double)
    let blue: (x: Double, y: Double)
    var white: (x: Double, y: Double) = (0.3127, 0.3290)

    static let bt709 = ColorPrimaries(red: (0.64, 0.33), green: (0.30, 0.60), blue: (0.15, 0.06))
    static let displayP3 = ColorPrimaries(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060))

    /// Nil for values that are unspecified, reserved, or no primaries of red, green and blue.
    init?(codePoint: Int) {
        switch codePoint {
        case 1: self = .bt709
        case 4:
            self.init(red: (0.67, 0.33), green: (0.21, 0.71), blue: (0.14, 0.08), white: (0.310, 0.316))
        case 5: self.init(red: (0.64, 0.33), green: (0.29, 0.60), blue: (0.15, 0.06))
        case 6, 7: self.init(red: (0.630, 0.340), green: (0.310, 0.595), blue: (0.155, 0.070))
        case 9: self.init(red: (0.708, 0.292), green: (0.170, 0.797), blue: (0.131, 0.046))
        case 11: self.init(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060), white: (0.314, 0.351))
        case 12: self = .displayP3
        default: return nil
        }
    }

    init(
        red: (x: Double, y: Double), green: (x: Double, y: Double), blue: (x: Double, y: Double),
        white: (x: Double, y: Double) = (0.3127, 0.3290)
    ) {
        self.red = red
        self.green = green
        self.blue = blue
        self.white = white
    }
}

extension ColorMatrix {
    /// From linear red, green and blue to XYZ with the white point D50.
    init?(primaries: ColorPrimaries) {
        self.init(red: primaries.red, green: primaries.green, blue: primaries.blue, white: primaries.white)
    }
}

extension ToneCurve {
    /// A transfer function of H.273, table 3. That of video (1, 6, 14, 15) counts as sRGB's, as viewers show it. Nil
    /// for values that are unspecified or reserved, and for high dynamic range (16, 18), which needs tone mapping.
    init?(codePoint: Int) {
        switch codePoint {
        case 1, 6, 13, 14, 15: self = .sRGB
        case 4: self = .gamma(2.2)
        case 5: self = .gamma(2.8)
        case 8: self = .gamma(1)
        default: return nil
        }
    }
}
