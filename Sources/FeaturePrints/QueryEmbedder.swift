import Compute
import Imaging
import Inference

/// Embeds query images: the prints of their crops, with the match threshold for them.
public struct QueryEmbedder: Sendable {
    public let model: FeaturePrintModel
    /// The crops of each query; one forward pass per crop.
    public let regions: QueryRegions

    /// A look that another follows is a tenth wider, so that the edges of the thing are in sight and the next look finds
    /// them: on the validation queries it is worth one percent of recall.
    private static let margin = 1.1

    public init(_ model: FeaturePrintModel, regions: QueryRegions = .object) {
        self.model = model
        self.regions = regions
    }

    /// Embeds the crops of an image: the centered ones first and together, then the localized ones, one after another,
    /// as long as the model localizes an object.
    public func embed(
        _ image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> EmbeddedQuery {
        EmbeddedQuery(crops: try crops(of: image, threads: threads, timings: timings), model: model)
    }

    private func crops(of image: PixelBuffer, threads: Int?, timings: StageTimings?) throws(ModelError) -> [RegionPrint] {
        let (fractions, objectLooks) = (regions.fractions, regions.objectLooks)
        let query = QueryImage(image, for: model, looks: fractions.count + objectLooks)
        let parts = fractions.map { $0 == 1 ? query.overview : query.overview.centre($0) }
        var prints = try model.look(at: parts.map { ImageRegion($0) }, threads: threads, timings: timings)
        guard let first = fractions.first else { return prints }
        var object = prints[0].object
        for look in 0..<objectLooks {
            let isLast = look == objectLooks - 1
            guard let part = object?.scaled(by: isLast ? 1 : Self.margin), model.canLook(at: part) else { break }
            let closer = try model.look(at: [query.region(part, ofCentre: first)], threads: threads, timings: timings)[0]
            prints.append(closer)
            object = closer.object
        }
        return prints
    }
}
