package import Compute
public import Imaging
public import Inference

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
        (self.model, self.crops) = (model, crops)
    }

    /// Embeds the crops of an image: the center crops together, then the localized crops one after another, as long as
    /// the model localizes an object that can be rectified.
    ///
    /// - Parameter threads: by default the threads that have nothing else to do (`ComputeExecutor`).
    /// - Throws: `ModelError` when the network's output has no direction.
    public func embed(
        _ image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> EmbeddedQuery {
        try uncancelled { try embed(image, threads: threads, timings: timings, cancellation: .none) }
    }

    /// - Parameters:
    ///   - overview: the image over a ground, reduced for all but small crops; nil for none.
    ///   - first: the first crop, if it was embedded before.
    /// - Throws: `ModelError`, and `CancellationError` between crops.
    package func embed(
        _ image: PixelBuffer, overview: PixelBuffer? = nil, first known: CropPrint? = nil, threads: Int? = nil,
        timings: StageTimings? = nil, cancellation: Cancellation
    ) throws -> EmbeddedQuery {
        func embed(_ crops: [ImageCrop], localizing: Bool) throws -> [CropPrint] {
            try model.embed(
                crops, localizing: localizing, threads: threads, timings: timings, cancellation: cancellation)
        }
        let (fractions, localizedCrops) = (crops.centerFractions, crops.localizedCrops)
        let query = CropSource(
            image.overContrastingGround(), overview: overview, for: model, cropCount: fractions.count + localizedCrops)
        let centers = fractions.map { ImageCrop($0 == 1 ? query.overview : query.overview.centerCrop($0)) }
        let first = fractions[0]
        var prints = try known.map { [$0] } ?? embed([centers[0]], localizing: localizedCrops > 0)
        var object = prints[0].object
        if localizedCrops > 0, object == nil {
            object = model.localize(centers[0].image, threads: threads, timings: timings)
        }
        prints += try embed(Array(centers.dropFirst()), localizing: false)
        for index in 0..<localizedCrops {
            let isLast = index == localizedCrops - 1
            guard let corners = object?.scaled(by: isLast ? 1 : Self.margin), model.canEmbed(corners) else { break }
            let print = try embed([query.crop(corners, ofCenter: first)], localizing: !isLast)[0]
            prints.append(print)
            object = print.object
        }
        return EmbeddedQuery(crops: prints, model: model)
    }
}

extension QueryEmbedder {
    /// The overview has at least this many pixels per pixel of the network's input, along each side. More did not
    /// change recall on the validation queries, and cost more to resize.
    private static let inputsInOverview = 2

    fileprivate static func overviewFactor(of image: PixelBuffer, for model: FeaturePrintModel) -> Int {
        let inputSide = max(model.neededSize.width, model.neededSize.height)
        return min(16, max(1, min(image.width, image.height) / (inputsInOverview * inputSide)))
    }

    /// An image, reduced to what several crops of it need.
    package static func overview(of image: PixelBuffer, for model: FeaturePrintModel) -> PixelBuffer {
        BoxReducer(factor: overviewFactor(of: image, for: model)).reduce(image)
    }
}

/// A query image, embedded: a print per crop, and the distance up to which an entity matches it.
public struct EmbeddedQuery: Sendable {
    /// The crops in the order in which they were embedded.
    public let crops: [CropPrint]
    /// The model of the prints.
    public let model: FeaturePrintModel

    init(crops: [CropPrint], model: FeaturePrintModel) { (self.crops, self.model) = (crops, model) }

    /// The prints of the crops. An entity's distance is its minimum distance over them.
    public var prints: [FeaturePrint] { crops.map(\.print) }

    /// The match threshold for this query, 0...2; nil for a model without one.
    ///
    /// Computed on each access; see ``FeaturePrintModel/matchThreshold(for:beside:)`` for what it costs.
    public var matchThreshold: Double? { model.matchThreshold(for: prints) }
}

/// A query image for several crops. A large image is reduced once; small crops read the original pixels.
private struct CropSource {
    /// The image, reduced if it is large.
    let overview: PixelBuffer
    private let image: PixelBuffer
    private let inputSide: Int

    /// - Parameters:
    ///   - overview: the image over a ground, perhaps reduced before; nil for the image itself.
    ///   - cropCount: how many crops are embedded. A larger image that gives a single one is not reduced first:
    ///     resizing it takes less than that.
    init(_ image: PixelBuffer, overview: PixelBuffer?, for model: FeaturePrintModel, cropCount: Int) {
        self.image = image
        inputSide = max(model.neededSize.width, model.neededSize.height)
        let known = overview ?? image
        let factor = QueryEmbedder.overviewFactor(of: known, for: model)
        self.overview = BoxReducer(factor: cropCount > 1 ? factor : factor < 4 ? min(factor, 2) : 1).reduce(known)
    }

    /// A rectified crop of the center `fraction` of the image, read from the overview if that has at least one pixel
    /// per pixel of the network's input, and from the image otherwise.
    func crop(_ quadrilateral: Quadrilateral, ofCenter fraction: Double) -> ImageCrop {
        let corners = quadrilateral.corners
        let sides = zip(corners, corners.dropFirst() + corners.prefix(1)).map { a, b in
            let (x, y) = ((a.x - b.x) * Double(overview.width), (a.y - b.y) * Double(overview.height))
            return fraction * (x * x + y * y).squareRoot()
        }
        let source = (sides.min() ?? 0) >= Double(inputSide) ? overview : image
        return ImageCrop(fraction == 1 ? source : source.centerCrop(fraction), quadrilateral: quadrilateral)
    }
}
