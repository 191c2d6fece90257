import CKernels
import Compute

/// Projects raw descriptors to fewer components, by principal component analysis, and to unit length.
struct DescriptorProjection: Sendable {
    private let mean: [Float]
    /// Row-major, `LocalFeatureModel.dimension` rows of `KeypointDescriber.length`.
    private let rows: [Float]
    private let kernels: SIMDTarget

    init(mean: [Float], rows: [Float], kernels: SIMDTarget) {
        self.mean = mean
        self.rows = rows
        self.kernels = kernels
    }

    /// Projects one descriptor. O(rows · length).
    func project(_ descriptor: UnsafeMutableBufferPointer<Float>, into result: UnsafeMutableBufferPointer<Float>) {
        let length = mean.count
        precondition(
            descriptor.count == length && result.count * length == rows.count, "a descriptor has \(length) components")
        for index in 0..<length { descriptor[index] -= mean[index] }
        kernels.table.dot_products(descriptor.baseAddress, rows, length, result.count, length, result.baseAddress)
        var squares: Float = 1e-20
        for value in result { squares += value * value }
        let scale = 1 / squares.squareRoot()
        for index in result.indices { result[index] *= scale }
    }
}
