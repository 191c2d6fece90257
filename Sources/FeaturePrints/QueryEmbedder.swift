import Compute
import Imaging
import Inference

/// Embeds query images: the prints of their crops, with the match threshold for them.
public struct QueryEmbedder: Sendable {
    /// The model to embed with.
    public let model: FeaturePrintModel
    /// The crops of each query; one forward pass per crop.
    public let crops: QueryCrops

    /// A localized crop that is followed by another one is 10 % larger: the edges of the object stay visible, and the
    /// next crop fits better. Worth one percent of recall on the validation queries.
    private static let margin = 1.1

    /// Embeds the given crops of each query.
    public init(_ model: FeaturePrintModel, crops: QueryCrops = .localized) {
        self.model = model
        self.crops = crops
    }

    /// Embeds the crops of an image: the center crops together, then the localized crops one after another, as long as
    /// the model localizes an object that can be rectified.
    ///
    /// - Parameter threads: by default those that have nothing else to do (`ComputeExecutor`).
    /// - Throws: `ModelError` when the network's output has no direction.
    public func embed(
        _ image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> EmbeddedQuery {
        do {
            return try embed(image, threads: threads, timings: timings, cancellation: .none)
        } catch let error as ModelError {
            throw error
        } catch {
            preconditionFailure("what is never cancelled throws no \(error)")
        }
    }

    /// - Throws: `ModelError`, and `CancellationError` between crops.
    package func embed(
        _ image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil, cancellation: Cancellation
    ) throws -> EmbeddedQuery {
        func embed(_ crops: [ImageCrop]) throws -> [CropPrint] {
            try model.embed(crops, threads: threads, timings: timings, cancellation: cancellation)
        }
        return EmbeddedQuery(crops: try prints(of: image, embed), model: model)
    }

    private func prints(of image: PixelBuffer, _ embed: ([ImageCrop]) throws -> [CropPrint]) throws -> [CropPrint] {
        let (fractions, localizedCrops) = (crops.centerFractions, crops.localizedCrops)
        let query = QueryImage(image, for: model, cropCount: fractions.count + localizedCrops)
        let centers = fractions.map { $0 == 1 ? query.overview : query.overview.centerCrop($0) }
        var prints = try embed(centers.map { ImageCrop($0) })
        guard let first = fractions.first else { return prints }
        var object = prints[0].object
        for index in 0..<localizedCrops {
            let isLast = index == localizedCrops - 1
            guard let corners = object?.scaled(by: isLast ? 1 : Self.margin), model.canEmbed(corners) else { break }
            let print = try embed([query.crop(corners, ofCenter: first)])[0]
            prints.append(print)
            object = print.object
        }
        return prints
    }
}
