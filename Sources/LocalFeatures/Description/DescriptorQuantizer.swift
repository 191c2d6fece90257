/// Quantizes the components of projected descriptors to 4 bits, each with its own step.
///
/// A code c stands for (c − 7.5) · step. Two components share a byte, the first in its low half.
struct DescriptorQuantizer: Sendable {
    /// Bytes of a quantized descriptor.
    static let byteCount = LocalFeatureModel.dimension / 2

    let steps: [Float]

    /// Appends the codes of a descriptor.
    func append(_ descriptor: UnsafeBufferPointer<Float>, to bytes: inout [UInt8]) {
        func code(_ index: Int) -> UInt8 {
            UInt8(min(max((descriptor[index] / steps[index]).rounded(.down) + 8, 0), 15))
        }
        for pair in 0..<Self.byteCount { bytes.append(code(2 * pair) | code(2 * pair + 1) << 4) }
    }

    /// Writes the codes 0...15 of `count` descriptors, one per byte.
    static func unpack(_ bytes: UnsafeBufferPointer<UInt8>, into codes: UnsafeMutableBufferPointer<UInt8>) {
        precondition(codes.count >= 2 * bytes.count, "two codes per byte")
        for index in bytes.indices {
            codes[2 * index] = bytes[index] & 15
            codes[2 * index + 1] = bytes[index] >> 4
        }
    }

    /// The component that a code stands for.
    func value(_ code: UInt8, component: Int) -> Float { (Float(code) - 7.5) * steps[component] }

    /// The unit vector that the codes of a descriptor stand for.
    func restore(_ codes: ArraySlice<UInt8>, into descriptor: UnsafeMutableBufferPointer<Float>) {
        var squares: Float = 1e-20
        for (pair, byte) in codes.enumerated() {
            for (index, code) in [(2 * pair, byte & 15), (2 * pair + 1, byte >> 4)] {
                let value = value(code, component: index)
                descriptor[index] = value
                squares += value * value
            }
        }
        let scale = 1 / squares.squareRoot()
        for index in descriptor.indices { descriptor[index] *= scale }
    }
}
