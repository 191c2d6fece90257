/// The meaning of the components of a pixel.
public enum PixelColorSpace: String, Sendable, CaseIterable {
    /// The color space of IEC 61966-2-1, which networks are trained with.
    case sRGB
    /// The color space of Apple's screens and cameras: the primaries of DCI-P3, the white point D65, the curve of sRGB.
    case displayP3
    /// Adobe RGB (1998).
    case adobeRGB
    /// The primaries of ITU-R BT.2020, of ultra-high-definition video, with the curve of sRGB, as viewers show it. Not
    /// for high dynamic range (HLG and PQ), which would need tone mapping.
    case bt2020

    /// The conversion to sRGB; nil for sRGB itself.
    var conversion: MatrixConversion? {
        switch self {
        case .sRGB: nil
        case .displayP3: Self.displayP3Conversion
        case .adobeRGB: Self.adobeRGBConversion
        case .bt2020: Self.bt2020Conversion
        }
    }

    private static let displayP3Conversion = conversion(.displayP3)
    private static let bt2020Conversion = conversion(.bt2020)

    private static func conversion(_ primaries: ColorPrimaries) -> MatrixConversion? {
        ColorMatrix(primaries: primaries).flatMap {
            MatrixConversion(curves: [.sRGB, .sRGB, .sRGB], toXYZ: $0, convertsFloats: true)
        }
    }

    private static let adobeRGBConversion = ColorMatrix(
        red: (0.64, 0.33), green: (0.21, 0.71), blue: (0.15, 0.06), white: (0.3127, 0.3290)
    ).flatMap { matrix in
        let curve = ToneCurve.gamma(563.0 / 256)
        return MatrixConversion(curves: [curve, curve, curve], toXYZ: matrix, convertsFloats: true)
    }
}

extension PixelBuffer {
    /// The image in sRGB; itself if it is in sRGB already.
    ///
    /// Premultiplied pixels are composited over white first, and the result is then opaque.
    /// - Complexity: O(pixels); the result is a copy with 3 bytes per pixel, or 4 with straight alpha.
    public func convertedToSRGB() -> PixelBuffer {
        guard let conversion = colorSpace.conversion else { return self }
        let offsets = format.redGreenBlueOffsets
        let channels = alpha == .straight ? 4 : 3
        let bytes = [UInt8](unsafeUninitializedCapacity: width * height * channels) { out, count in
            withUnsafeBytes { source in
                for y in 0..<height {
                    for x in 0..<width {
                        let from = y * bytesPerRow + x * format.bytesPerPixel
                        let to = (y * width + x) * channels
                        let background = alpha == .premultiplied ? 255 - source[from + 3] : 0
                        // A color that is larger than its alpha is none; it becomes white.
                        out[to] = UInt8(clamping: Int(source[from + offsets.red]) + Int(background))
                        out[to + 1] = UInt8(clamping: Int(source[from + offsets.green]) + Int(background))
                        out[to + 2] = UInt8(clamping: Int(source[from + offsets.blue]) + Int(background))
                        if channels == 4 { out[to + 3] = source[from + 3] }
                    }
                }
            }
            if let base = out.baseAddress { conversion.convert(base, count: width * height, channels: channels) }
            count = width * height * channels
        }
        guard
            var result = try? PixelBuffer(
                bytes, width: width, height: height, format: channels == 4 ? .rgba8 : .rgb8, alpha: .straight)
        else { preconditionFailure("\(bytes.count) bytes are an image of \(width)×\(height)") }
        result.sourceSize = sourceSize
        result.decodingNotes = decodingNotes
        return result
    }
}
