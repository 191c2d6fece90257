import CKernels

/// An instruction set that the kernels were written for.
///
/// Unchecked: a table holds constant function pointers and a constant string.
public struct KernelTier: @unchecked Sendable {
    /// The tier's functions. Constant for the life of the process.
    package let table: lk_kernels

    public var name: String { String(cString: table.name) }

    /// Whether this CPU multiplies bytes faster than floats.
    public var isFastWithBytes: Bool { table.quantized_is_fast }

    /// What this CPU does best, or what the environment variable `LOOKALIKE_KERNELS` names
    /// (`portable`, `neon`, `avx2`, `avx512`, `avx512vnni`) where the CPU has it.
    public static let selected: KernelTier = {
        guard let table = lk_kernels_selected() else { preconditionFailure("the portable tier is always there") }
        return KernelTier(table: table.pointee)
    }()

    /// All that this CPU has, the plain reference first.
    public static let available: [KernelTier] =
        [LK_TIER_PORTABLE, LK_TIER_NEON, LK_TIER_AVX2, LK_TIER_AVX512, LK_TIER_AVX512VNNI]
        .compactMap { lk_kernels_for($0) }.map { KernelTier(table: $0.pointee) }
}
