import CKernels
import Compute

/// The first components of several descriptors as int8, for products with the unsigned codes of words and of catalog
/// features.
struct QuantizedComponents {
    /// The step and the sum of the codes of each descriptor. The sum times the other side's zero point is what the zero
    /// point adds to a dot product.
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
        (self.quantizations, self.depth) = (quantizations, depth)
    }

    func copyCodes(of row: Int, to target: UnsafeMutableBufferPointer<Int8>, at offset: Int) {
        precondition(offset + depth <= target.count, "\(depth) codes per descriptor")
        for index in 0..<depth { target[offset + index] = codes[row * depth + index] }
    }
}
