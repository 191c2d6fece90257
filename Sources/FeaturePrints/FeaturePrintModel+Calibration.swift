import Compute
import Foundation
import Imaging
import Inference

extension FeaturePrintModel {
    /// The share of a tensor's values that int8 keeps: few large ones would make the steps of all others coarse.
    private static let keptShare = 0.9999

    /// The activation ranges that a model file needs to be computed in int8, measured on images.
    ///
    /// A range is the value that one in ten thousand of a tensor's values exceeds, averaged over the images.
    ///
    /// - Parameter images: like those that will be indexed; some dozens are enough.
    /// - Returns: a range for every tensor that can be int8; nothing for a network without such tensors.
    /// - Throws: `ModelError` when the model does not compute in float32.
    /// - Complexity: a forward pass per image.
    public func activationRanges(for images: [PixelBuffer]) throws(ModelError) -> [String: Float] {
        guard precision == .float32 else {
            throw ModelError(
                source: identity.name, reason: .unusableGraph("ranges are measured on a model in float32"))
        }
        let names = Set(Quantization.candidates(in: network.graph))
        var sums: [String: Double] = [:]
        guard !names.isEmpty, !images.isEmpty else { return [:] }
        workspaces.withWorkspace(for: network, batch: 1, threads: 1) { workspace in
            for image in images {
                input.write(ImageCrop(image), into: network.input(0, in: workspace))
                network.observe(names, in: workspace, batch: 1, kernels: kernels) { name, values in
                    let sorted = values.sorted()
                    let place = min(sorted.count - 1, Int((Double(sorted.count) * Self.keptShare).rounded(.down)))
                    sums[name, default: 0] += Double(sorted[place])
                }
            }
        }
        // A tensor that is always zero has any range.
        return sums.mapValues { $0 > 0 ? Float($0 / Double(images.count)) : 1 }
    }
}
