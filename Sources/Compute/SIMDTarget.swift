package import CKernels
import Foundation

/// A SIMD target: an instruction set with kernels of its own.
///
/// Unchecked: the table holds constant function pointers and a constant string.
package struct SIMDTarget: @unchecked Sendable {
    /// The target's functions; constant for the life of the process.
    package let table: lk_kernels

    package var name: String { String(cString: table.name) }

    /// Whether an int8 dot product is faster than a float32 one on this target (VNNI with and without
    /// AVX-512, and Arm's dot products): for networks, and for batches of queries.
    package var hasFastInt8DotProduct: Bool { table.has_fast_int8_dot_product }

    /// Whether one query, whose time is that of reading the rows, is faster if int8 rows reject most float32 ones (AVX2
    /// and later, and Arm's dot products).
    package var hasFastInt8Scan: Bool { table.has_fast_int8_scan }

    /// The best target of this CPU, or the one that the environment variable `LOOKALIKE_SIMD` names, such as
    /// `portable`, `avx2` or `neon`, if the CPU supports it. For another name there is a note on standard error;
    /// programs refuse it (``environmentProblem``).
    ///
    /// Unless `amx` is named, its int8 convolution first has to give the same codes as that of `avx512vnni` in a trial
    /// of a few milliseconds, and in less time.
    package static let selected: SIMDTarget = {
        guard let table = lk_kernels_selected() else { preconditionFailure("every CPU supports the portable target") }
        if let environmentProblem { FileHandle.standardError.write(Data("note: \(environmentProblem)\n".utf8)) }
        return SIMDTarget(table: table.pointee)
    }()

    /// What is wrong with `LOOKALIKE_SIMD`; nil if it is not set, is empty, or names a target of this CPU. Who sets it
    /// wants the same numbers on all machines.
    package static var environmentProblem: String? {
        guard let value = getenv("LOOKALIKE_SIMD").map({ String(cString: $0) }), !value.isEmpty else { return nil }
        let names = available.map(\.name)
        guard !names.contains(where: { $0 == value.lowercased() }) else { return nil }
        return "LOOKALIKE_SIMD is “\(value)”, and this CPU has \(names.joined(separator: ", "))"
    }

    /// All targets that this CPU supports, the portable reference first.
    package static let available: [SIMDTarget] =
        (0...).lazy.map { lk_kernels_at($0) }.prefix { $0 != nil }.map { SIMDTarget(table: $0!.pointee) }
}
