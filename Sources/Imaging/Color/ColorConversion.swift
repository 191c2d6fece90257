import CImageCodecs

/// The conversion of an image's pixels to sRGB, as its file asks for it.
enum ColorConversion {
    /// A problem with the colors: the pixels stay as they are.
    struct Ignored: Error {
        let note: String
    }

    /// No conversion.
    case none
    case matrix(MatrixConversion)
    /// A table with a byte for each byte of gray.
    case gray([UInt8])
    /// A profile for lcms2.
    case profile([UInt8])

    /// - Parameter model: the color model of the pixels.
    /// - Throws: ``Ignored``.
    init(_ colors: EmbeddedColors, for model: ICCProfile.ColorModel) throws(Ignored) {
        switch colors {
        case .unspecified: self = .none
        case .broken(let words): throw Ignored(note: words)
        case .codePoints(let primaries, let transfer):
            // 2 is “unspecified”.
            guard transfer != 2 || primaries != 2 else {
                self = .none
                return
            }
            guard let curve = ToneCurve(codePoint: transfer == 2 ? 13 : transfer) else {
                throw Ignored(note: "its transfer function \(transfer) is not supported; its colors are taken for sRGB")
            }
            guard let primaries = ColorPrimaries(codePoint: primaries == 2 ? 1 : primaries) else {
                throw Ignored(note: "its color primaries \(primaries) are not supported; its colors are taken for sRGB")
            }
            self = try Self.converting(curve, primaries, for: model)
        case .gamma(let exponent, let primaries):
            // Most writers of sRGB pixels put 2.2 into their files.
            let curve = abs(exponent - 2.2) < 0.005 ? ToneCurve.sRGB : .gamma(exponent)
            guard !curve.isFlat else { throw Ignored(note: "its gamma is ignored: its curve hardly rises") }
            self = try Self.converting(curve, primaries ?? .bt709, for: model)
        case .profile(let bytes):
            do throws(ICCProfile.Problem) { self = try Self.converting(profile: bytes, for: model) } catch {
                throw Ignored(note: "its color profile is ignored: \(error.words)")
            }
        }
    }

    private static func converting(
        _ curve: ToneCurve, _ primaries: ColorPrimaries, for model: ICCProfile.ColorModel
    ) throws(Ignored) -> ColorConversion {
        if model == .gray { return gray(curve) }
        guard let matrix = ColorMatrix(primaries: primaries) else {
            throw Ignored(note: "its gamma is ignored: its primaries do not span a plane")
        }
        return MatrixConversion(curves: [curve, curve, curve], toXYZ: matrix).map { .matrix($0) } ?? .none
    }

    private static func converting(
        profile bytes: [UInt8], for model: ICCProfile.ColorModel
    ) throws(ICCProfile.Problem) -> ColorConversion {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(ICCProfile.Problem) -> ColorConversion in
                let profile = try ICCProfile(raw)
                // Gray pixels may have been expanded to three components.
                guard profile.model == model || profile.model == .gray && model == .rgb else {
                    throw ICCProfile.Problem(words: "it is for \(profile.model), and the image is \(model)")
                }
                switch profile.model {
                case .gray: return gray(try profile.grayCurve())
                case .rgb where !profile.hasTable:
                    let (curves, toXYZ) = try profile.matrixAndCurves()
                    return MatrixConversion(curves: curves, toXYZ: toXYZ).map { .matrix($0) } ?? .none
                default:
                    #if LK_COLOR_MANAGEMENT
                    return .profile(bytes)
                    #else
                    throw ICCProfile.Problem(
                        words:
                            "it has a table, and this build lacks lcms2; build again with it and the package's trait "
                            + "“ColorManagement”")
                    #endif
                }
            }
        }
        return try result.get()
    }

    private static func gray(_ curve: ToneCurve) -> ColorConversion {
        if curve.isNearSRGB { return .none }
        return .gray(
            (0..<256).map { UInt8(ToneCurve.encodedSRGB(curve.linear(Double($0) / 255)) * 255 + 0.5) })
    }

    /// Converts decoded pixels in place; CMYK becomes RGB with three bytes per pixel. The fourth byte of RGB, and the
    /// second one of gray, stay as they are.
    ///
    /// - Returns: whether inks became RGB.
    /// - Throws: ``Ignored``; the pixels are then as they were.
    func convert(_ pixels: UnsafeMutablePointer<UInt8>, of header: lk_image_header) throws(Ignored) -> Bool {
        let (count, channels) = (Int(header.width) * Int(header.height), Int(header.channels))
        switch self {
        case .none: return false
        case .matrix(let conversion):
            if channels >= 3 { conversion.convert(pixels, count: count, channels: channels) }
        case .gray(let table):
            let components = channels <= 2 ? 1 : 3
            for index in 0..<count {
                for component in 0..<components {
                    let at = index * channels + component
                    pixels[at] = table[Int(pixels[at])]
                }
            }
        case .profile(let bytes):
            #if LK_COLOR_MANAGEMENT
            do throws(ImageError.Reason) {
                try ImageDecoder.check {
                    lk_convert_profile(
                        bytes, bytes.count, pixels, header.width, header.height, header.channels, header.is_cmyk,
                        header.is_inverted, $0)
                }
            } catch {
                guard case .damaged(let words) = error else { return false }
                throw Ignored(note: "its color profile is ignored: \(words)")
            }
            return header.is_cmyk
            #endif
        }
        return false
    }
}

/// The colors of an image, as its file describes them.
enum EmbeddedColors {
    /// No description: the colors are taken for sRGB.
    case unspecified
    case profile([UInt8])
    /// Code points of ITU-T H.273.
    case codePoints(primaries: Int, transfer: Int)
    /// The exponent of a PNG file, from encoded to linear, and its primaries if they are there.
    case gamma(Double, ColorPrimaries?)
    /// A description that cannot be used; the reason.
    case broken(String)

    /// The largest profile that is used; profiles of presses have two or three megabytes.
    static let maximumProfileSize = 16 << 20
}
