/// The number formats in which weights may be stored; all are computed with as 32-bit floats.
enum TensorElement: String, Sendable, Decodable {
    case float32 = "F32"
    case float16 = "F16"
    case bfloat16 = "BF16"

    var byteCount: Int { self == .float32 ? 4 : 2 }

    /// Reads little-endian numbers, which need not be aligned.
    func floats(from bytes: UnsafeRawBufferPointer) -> [Float] {
        let count = bytes.count / byteCount
        return [Float](unsafeUninitializedCapacity: count) { out, initialized in
            for index in 0..<count {
                switch self {
                case .float32:
                    out[index] = Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)))
                case .float16:
                    out[index] = Self.widened(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
                case .bfloat16:
                    let high = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
                    out[index] = Float(bitPattern: UInt32(high) << 16)
                }
            }
            initialized = count
        }
    }

    /// IEEE 754 binary16 to binary32, exact. By hand, since Swift has no Float16 on every platform.
    static func widened(_ half: UInt16) -> Float {
        let sign: Float = half & 0x8000 == 0 ? 1 : -1
        let exponent = Int(half >> 10 & 0x1F)
        let fraction = Float(half & 0x3FF)
        switch exponent {
        case 0: return sign * fraction * 0x1p-24
        case 31: return fraction == 0 ? sign * .infinity : .nan
        default: return sign * (1024 + fraction) * Float(sign: .plus, exponent: exponent - 25, significand: 1)
        }
    }
}
