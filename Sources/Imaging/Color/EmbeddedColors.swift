/// What an image file says about its colors.
enum EmbeddedColors {
    /// Nothing: they are taken for sRGB.
    case unspecified
    case profile([UInt8])
    /// ITU-T H.273.
    case codePoints(primaries: Int, transfer: Int)
    /// A PNG file's exponent, from encoded to linear, and its primaries if they are there.
    case gamma(Double, ColorPrimaries?)
    /// It says something that cannot be read.
    case broken(String)

    /// A profile that is larger is not used; those of presses have two or three megabytes.
    static let maximumProfileSize = 16 << 20
}
