import CKernels

/// The formats of stored numbers. Weights are converted to float32.
enum NumberFormat: String, Sendable {
    case float32 = "F32"
    case float16 = "F16"
    case bfloat16 = "BF16"
    case uint8 = "U8"

    var kernelFormat: lk_number_format {
        switch self {
        case .float32: LK_FLOAT32
        case .float16: LK_FLOAT16
        case .bfloat16: LK_BFLOAT16
        case .uint8: LK_UINT8
        }
    }

    var byteCount: Int { lk_number_size(kernelFormat) }
}
