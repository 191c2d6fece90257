import CKernels

/// Numbers in a stored format, one at a time.
struct StoredFormat {
    let format: lk_number_format

    init(_ format: lk_number_format) { self.format = format }

    /// Rounds floats to the format, and encodes them: little-endian, without padding.
    func bytes(of floats: inout [Float]) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in floats.indices {
            let code: UInt32
            (floats[index], code) = rounded(floats[index])
            for byte in 0..<lk_number_size(format) { bytes.append(UInt8(truncatingIfNeeded: code >> (8 * byte))) }
        }
        return bytes
    }

    /// A number of the format near to a float, and its code.
    private func rounded(_ float: Float) -> (Float, UInt32) {
        switch format {
        case LK_FLOAT32: return (float, float.bitPattern)
        case LK_FLOAT16:
            let half = Self.nearestHalf(to: float)
            return (Self.value(ofHalf: half), UInt32(half))
        case LK_BFLOAT16:
            let code = float.bitPattern >> 16
            return (Float(bitPattern: code << 16), code)
        default:
            let code = UInt8(min(max(abs(float), 0), 255))
            return (Float(code), UInt32(code))
        }
    }

    /// IEEE 754-2019, section 3.4: for binary16 the bias is 15, and the fraction has ten bits.
    static func value(ofHalf half: UInt16) -> Float {
        let (exponent, fraction) = (Int(half >> 10 & 31), Float(half & 1023))
        let sign: Float = half >> 15 == 0 ? 1 : -1
        switch exponent {
        case 0: return sign * fraction / 1024 * Float(sign: .plus, exponent: -14, significand: 1)
        case 31: return fraction == 0 ? sign * .infinity : .nan
        default: return sign * Float(sign: .plus, exponent: exponent - 15, significand: 1 + fraction / 1024)
        }
    }

    /// The last finite half whose magnitude is not above that of the float.
    private static func nearestHalf(to float: Float) -> UInt16 {
        var (low, high) = (UInt16(0), UInt16(0x7C00))
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if value(ofHalf: middle) <= abs(float) { low = middle } else { high = middle }
        }
        return low | (float < 0 ? 0x8000 : 0)
    }
}
