import Compute
package import Foundation
public import Imaging
public import Inference

extension FeaturePrintModel {
    /// The share of a tensor's values that int8 keeps at either end: few large ones would make the steps of all others
    /// coarse.
    private static let keptShare = 0.9999

    /// The activation ranges that a model file needs to be computed in int8, measured on images.
    ///
    /// One in ten thousand of a map's values is below the range, and one above it; the bounds are averaged over the
    /// images. A vector has few values: the bounds of its range are the smallest and the largest of all images. Each
    /// line of an array that a linear layer reads has a range of its own; that of the array says that it is int8.
    ///
    /// - Parameter images: images like the ones to be indexed; some dozens are enough.
    /// - Returns: a range for every tensor that can be int8; nothing for a network without such tensors.
    /// - Throws: `ModelError` when the model does not compute in float32.
    /// - Complexity: a forward pass per image.
    public func activationRanges(for images: [PixelBuffer]) throws(ModelError) -> [String: ActivationRange] {
        guard precision == .float32 else {
            throw ModelError(
                subject: identity.name, reason: .unusableGraph("ranges are measured on a model in float32"))
        }
        let names = Set(Quantization.candidates(in: self.images.graph))
        let lines = Set(Quantization.linearInputs(in: self.images.graph))
        var extremes: [String: (lower: Float, upper: Float)] = [:]
        var sums: [String: (lower: Double, upper: Double)] = [:]
        guard !names.isEmpty, !images.isEmpty else { return [:] }
        let passes = self.images
        passes.workspaces.withWorkspace(for: network, batch: 1, threads: 1) { workspace in
            for image in images {
                passes.input.write(ImageCrop(image), into: network.input(0, in: workspace))
                network.observe(names, in: workspace, batch: 1, kernels: passes.kernels) { name, values in
                    if lines.contains(name), let lowest = values.min(), let highest = values.max() {
                        let known = extremes[name] ?? (lowest, highest)
                        extremes[name] = (min(known.lower, lowest), max(known.upper, highest))
                        return
                    }
                    let sorted = values.sorted()
                    let place = min(sorted.count - 1, Int((Double(sorted.count) * Self.keptShare).rounded(.down)))
                    sums[name, default: (0, 0)].lower += Double(sorted[sorted.count - 1 - place])
                    sums[name, default: (0, 0)].upper += Double(sorted[place])
                }
            }
        }
        let means = sums.mapValues { sum in
            let count = Double(images.count)
            return ActivationRange(lower: Float(sum.lower / count), upper: Float(sum.upper / count))
        }
        return means.merging(extremes.mapValues { ActivationRange(lower: $0.lower, upper: $0.upper) }) { mean, _ in mean
        }
    }
}

extension FeaturePrintModel {
    /// The bytes of this model's file with other coefficients of the confidence, and another match threshold.
    ///
    /// The network and its identity stay, so catalogs made with it stay valid.
    /// - Throws: `ModelError` if the file cannot be rewritten.
    /// - Complexity: O(bytes of the file).
    package func fileData(with fit: ConfidenceFit) throws(ModelError) -> Data {
        do {
            let file = try SafeTensorsFile(fileData)
            var metadata = file.metadata
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            metadata[ConfidenceCoefficients.metadataKey] = String(
                decoding: try encoder.encode(fit.coefficients), as: UTF8.self)
            metadata[ModelFile.matchThresholdKey] = String(format: "%.4f", fit.matchThreshold)
            if let background = metadata[ScoreNormalization.metadataKey],
                var description = try JSONSerialization.jsonObject(with: Data(background.utf8)) as? [String: Any]
            {
                description["weight"] = fit.weight
                description["typical_distance"] = fit.typicalDistance
                metadata[ScoreNormalization.metadataKey] = String(
                    decoding: try JSONSerialization.data(withJSONObject: description, options: .sortedKeys),
                    as: UTF8.self)
            }
            return try file.data(with: metadata)
        } catch {
            throw ModelError(subject: identity.name, reason: .malformed("its header cannot be rewritten: \(error)"))
        }
    }
}
