import CatalogSearch
import Compute
public import FeaturePrints
public import Foundation
public import Imaging
import LocalFeatures

#if DefaultModel
import DefaultModel
#endif

/// Vision's request for the feature print of an image, with a model of this package.
public struct GenerateImageFeaturePrintRequest: Sendable {
    private let model: @Sendable () throws -> FeaturePrintModel

    /// A request with a model of your own.
    public init(model: FeaturePrintModel) { self.model = { model } }

    #if DefaultModel
    /// A request with the default model, which is loaded when the request is first performed.
    public init() { model = { try .default() } }
    #endif

    /// The feature print of an image.
    ///
    /// - Throws: `ModelError`, and `CancellationError` when the task is cancelled meanwhile.
    /// - Complexity: a forward pass per crop, and the extraction of local features.
    public func perform(on image: PixelBuffer) async throws -> FeaturePrintObservation {
        try Task.checkCancellation()
        return try await ComputeExecutor.shared.compute { cancellation in
            try FeaturePrintObservation(image, model: model(), cancellation: cancellation)
        }
    }

    /// The feature print of the image in a file.
    ///
    /// - Throws: what reading the file throws, `ModelError` and `CancellationError`.
    public func perform(on url: URL) async throws -> FeaturePrintObservation {
        try await perform(on: ComputeExecutor.shared.compute { _ in try PixelBuffer(contentsOf: url) })
    }

    /// The feature print of the image in the bytes of a file.
    ///
    /// - Throws: what decoding the bytes throws, `ModelError` and `CancellationError`.
    public func perform(on data: Data) async throws -> FeaturePrintObservation {
        try await perform(on: ComputeExecutor.shared.compute { _ in try PixelBuffer(decoding: data, named: "image") })
    }
}

/// Vision's name for what a ``GenerateImageFeaturePrintRequest`` makes of an image: its print, with what is needed to
/// verify a match.
///
/// Distances are scaled so that 1 is the match threshold: an image up to this far away is more likely than not what the
/// other one shows. They are comparable between images, and no measure of how similar two different things are; a
/// `FeaturePrint` measures that.
///
/// A coded observation takes about 20 kB. It is compared as an image of a collection is: what only an image that is
/// looked for has is not kept.
public struct FeaturePrintObservation: Sendable {
    /// The print of the whole image.
    public let featurePrint: FeaturePrint
    private let query: PictureQuery
    /// What a catalog keeps of an image; nil if prints alone are compared.
    private let features: LocalFeatures?
    private let localModelDigest: String?

    /// The number of components of the print.
    public var elementCount: Int { featurePrint.vector.count }

    /// The components of the print: little-endian 32-bit floats, one after another.
    public var data: Data {
        featurePrint.vector.reduce(into: Data(capacity: elementCount * MemoryLayout<Float>.size)) { data, value in
            withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) }
        }
    }

    init(_ image: PixelBuffer, model: FeaturePrintModel, cancellation: Cancellation) throws {
        let local = model.usesLocalFeatures ? try Self.localModel() : nil
        let crops = local == nil ? QueryCrops.localized : .whole
        let prints = try QueryEmbedder(model, crops: crops).embed(image, cancellation: cancellation).prints
        try cancellation.check()
        let extractor = local.map { LocalFeatureExtractor($0) }
        let features = extractor?.features(of: image)
        try cancellation.check()
        let found = extractor.map { extractor in
            LocalFeatureQuery(
                extractor.queryFeatures(
                    of: image.overContrastingGround(), detail: .fineQuery, cancellation: cancellation),
                model: extractor.model)
        }
        try cancellation.check()
        featurePrint = prints[0]
        query = PictureQuery(
            prints: prints, matchThreshold: model.matchThreshold(for: prints), coefficients: model.confidence,
            features: found, dense: features.flatMap { local?.denseDescriptors(storedAs: $0.dense) })
        self.features = features
        localModelDigest = local?.digest
    }

    /// The distance of an image of a collection from this one, which is looked for in it: up to 1 the image is more
    /// likely than not what this one shows, by the evidence that a catalog's search weighs. Never negative; 0 for equal
    /// prints.
    ///
    /// This image may be a photograph that shows the other one in part, turned or at an angle. If the other one is the
    /// photograph, the distance may be larger.
    ///
    /// - Throws: `FeaturePrintError` if the observations were made with different models.
    /// - Complexity: O(prints · dimension), and O(features²), a millisecond, for an image whose print is not far away.
    public func distance(to other: FeaturePrintObservation) throws -> Double {
        if featurePrint == other.featurePrint { return 0 }
        let isComparable = localModelDigest == other.localModelDigest
        let distance = try query.relativeDistance(
            to: other.featurePrint, features: isComparable ? other.features : nil)
        // Verified images have negative distances as well, and keep their order among the positive ones.
        return distance >= 0.5 ? distance : 0.5 * exp(2 * distance - 1)
    }

    private static func localModel() throws -> LocalFeatureModel? {
        #if DefaultModel
        try .default()
        #else
        nil
        #endif
    }
}

extension FeaturePrintObservation: Hashable {
    /// Whether the prints of both images are equal.
    public static func == (a: Self, b: Self) -> Bool { a.featurePrint == b.featurePrint }

    public func hash(into hasher: inout Hasher) { hasher.combine(featurePrint) }
}

extension FeaturePrintObservation: Codable {
    private enum CodingKeys: CodingKey { case featurePrint, matchThreshold, coefficients, features, localModel }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        featurePrint = try values.decode(FeaturePrint.self, forKey: .featurePrint)
        localModelDigest = try values.decodeIfPresent(String.self, forKey: .localModel)
        let model = localModelDigest == nil ? nil : try Self.localModel()
        let stored = try values.decodeIfPresent(Data.self, forKey: .features)
        let features = stored.flatMap { LocalFeatures(encoded: $0, wordCount: model?.wordCount ?? .max) }
        if let stored, features == nil {
            throw DecodingError.dataCorruptedError(
                forKey: .features, in: values, debugDescription: "\(stored.count) bytes are no local features")
        }
        self.features = features
        let known = model?.digest == localModelDigest ? model : nil
        query = PictureQuery(
            prints: [featurePrint], matchThreshold: try values.decodeIfPresent(Double.self, forKey: .matchThreshold),
            coefficients: try values.decode(ConfidenceCoefficients.self, forKey: .coefficients),
            features: features.flatMap { features in known.map { LocalFeatureQuery(features, model: $0) } },
            dense: features.flatMap { known?.denseDescriptors(storedAs: $0.dense) })
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(featurePrint, forKey: .featurePrint)
        try values.encodeIfPresent(query.matchThreshold, forKey: .matchThreshold)
        try values.encode(query.coefficients, forKey: .coefficients)
        try values.encodeIfPresent(features?.encoded, forKey: .features)
        try values.encodeIfPresent(localModelDigest, forKey: .localModel)
    }
}
