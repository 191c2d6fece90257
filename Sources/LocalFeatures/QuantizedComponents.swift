import CKernels
import Compute

/// The components of several descriptors as int8, for products with the unsigned codes of words and of catalog
/// features.
struct QuantizedComponents {
    /// The step and the sum of the codes of each descriptor. The sum times the other side's zero point is what the zero
    /// point adds to a dot product.
    let quantizations: [lk_quantization]
    /// ``LocalFeatureModel/dimension`` codes per descriptor.
    let codes: [Int8]
    private static let dimension = LocalFeatureModel.dimension

    init(of descriptors: UnsafeBufferPointer<Float>, kernels: SIMDTarget) {
        let dimension = Self.dimension
        let count = descriptors.count / dimension
        var quantizations: [lk_quantization] = []
        quantizations.reserveCapacity(count)
        codes = [Int8](unsafeUninitializedCapacity: count * dimension) { codes, initialized in
            for row in 0..<count {
                quantizations.append(
                    kernels.table.quantize_components(
                        descriptors.baseAddress.map { $0 + row * dimension }, dimension,
                        codes.baseAddress.map { $0 + row * dimension }))
            }
            initialized = count * dimension
        }
        self.quantizations = quantizations
    }

    func copyCodes(of row: Int, to target: UnsafeMutableBufferPointer<Int8>, at offset: Int) {
        let dimension = Self.dimension
        precondition(offset + dimension <= target.count, "\(dimension) codes per descriptor")
        for index in 0..<dimension { target[offset + index] = codes[row * dimension + index] }
    }
}
