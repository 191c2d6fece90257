import CKernels
import Compute

/// The first components of several descriptors as int8, for products with unsigned codes: those of words, and those of
/// catalog features.
struct QuantizedComponents {
    /// Of each descriptor, the step of its codes and their sum. The sum times the zero point of the other side is what
    /// that adds to a dot product.
    let quantizations: [lk_quantization]
    /// `depth` codes per descriptor.
    let codes: [Int8]
    private let depth: Int

    /// - Precondition: `depth` is a multiple of 16, and at most `dimension`.
    init(of descriptors: UnsafeBufferPointer<Float>, dimension: Int, depth: Int, kernels: SIMDTarget) {
        precondition(depth % 16 == 0 && depth <= dimension, "components come in groups of sixteen")
        let count = descriptors.count / dimension
        var quantizations: [lk_quantization] = []
        quantizations.reserveCapacity(count)
        codes = [Int8](unsafeUninitializedCapacity: count * depth) { codes, initialized in
            for row in 0..<count {
                quantizations.append(
                    kernels.table.quantize_components(
                        descriptors.baseAddress.map { $0 + row * dimension }, depth,
                        codes.baseAddress.map { $0 + row * depth }))
            }
            initialized = count * depth
        }
        self.quantizations = quantizations
        self.depth = depth
    }

    func copyCodes(of row: Int, to target: UnsafeMutableBufferPointer<Int8>, at offset: Int) {
        precondition(offset + depth <= target.count, "\(depth) codes per descriptor")
        for index in 0..<depth { target[offset + index] = codes[row * depth + index] }
    }
}
