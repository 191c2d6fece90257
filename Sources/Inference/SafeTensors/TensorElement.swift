/// The number formats of stored tensors. Weights are converted to float32.
enum TensorElement: String, Sendable, Decodable {
    case float32 = "F32"
    case float16 = "F16"
    case bfloat16 = "BF16"
    case uint8 = "U8"

    var byteCount: Int {
        switch self {
        case .float32: 4
        case .float16, .bfloat16: 2
        case .uint8: 1
        }
    }

    /// Reads little-endian numbers, which need not be aligned.
    func floats(from bytes: UnsafeRawBufferPointer) -> [Float] {
        let count = bytes.count / byteCount
        return [Float](unsafeUninitializedCapacity: count) { out, initialized in
            // One loop per format, so that each is vectorized: a network has millions of numbers.
            guard let bytes = bytes.baseAddress, let out = out.baseAddress else { return }
            switch self {
            case .float32:
                for index in 0..<count {
                    out[index] = Float(
                        bitPattern: UInt32(
                            littleEndian: bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)))
                }
            case .float16:
                for index in 0..<count {
                    out[index] = Self.widened(
                        UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
                }
            case .bfloat16:
                for index in 0..<count {
                    let high = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
                    out[index] = Float(bitPattern: UInt32(high) << 16)
                }
            case .uint8:
                for index in 0..<count { out[index] = Float(bytes.load(fromByteOffset: index, as: UInt8.self)) }
            }
            initialized = count
        }
    }

    /// IEEE 754 binary16 to binary32, exact. By hand, since Swift lacks Float16 on some platforms: with exponent and
    /// fraction shifted to their new positions a number is 2¹¹² times too small, subnormal ones too; infinity and NaN
    /// get the largest exponent.
    @inline(__always)
    static func widened(_ half: UInt16) -> Float {
        let bits = UInt32(half & 0x7FFF) << 13
        let finite = (Float(bitPattern: bits) * 0x1p112).bitPattern
        let magnitude = half & 0x7C00 == 0x7C00 ? bits | 0x7F80_0000 : finite
        return Float(bitPattern: magnitude | UInt32(half & 0x8000) << 16)
    }
}
