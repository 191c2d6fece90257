package import Compute
import Imaging

/// A query's local features, prepared to find and to verify candidates.
///
/// The first stage votes through inverted lists; the second matches descriptors and fits a homography.
public struct LocalFeatureQuery: Sendable {
    /// The features of the query image.
    public let features: QueryFeatures
    /// The model that the features were extracted with.
    package let model: LocalFeatureModel
    private let kernels: SIMDTarget
    private let matcher: DescriptorMatcher
    private let votingCount: Int

    /// Prepares features for matching. O(features).
    ///
    /// - Parameters:
    ///   - model: the model that they were extracted with.
    ///   - votingCount: so many of the strongest features have visual words to vote with.
    public init(_ features: QueryFeatures, model: LocalFeatureModel, votingCount: Int = .max) {
        self.init(features, model: model, votingCount: votingCount, simd: .selected)
    }

    package init(_ features: QueryFeatures, model: LocalFeatureModel, votingCount: Int = .max, simd: SIMDTarget) {
        (self.features, self.model, self.votingCount) = (features, model, votingCount)
        kernels = simd
        matcher = DescriptorMatcher(features, model: model, kernels: simd)
    }

    /// The visual words to vote with. O(features · words compared).
    public var words: QueryWords {
        let voting = features.count <= votingCount ? features : features.selecting(Array(0..<votingCount))
        return QueryWords(voting, model: model, kernels: kernels)
    }

    /// Where the query shows an image; nil if too few features agree on one homography.
    ///
    /// A pattern that repeats shows nothing distinctive: all similar features are matched, and many have to agree.
    /// O(query features · image features).
    public func verify(_ image: LocalFeatures) -> VerifiedOutline? {
        let verifier = GeometricVerifier(queryWidth: Float(features.width), queryHeight: Float(features.height))
        let matches = matcher.matches(with: image)
        let found = verifier.verify(matches.mutual, of: image)
        guard matches.showPattern else { return found }
        let pattern = verifier.verify(matches.distinctive + matches.repeated, of: image)
        guard let pattern, pattern.inlierCount >= max(Self.fewestOfPattern, found?.inlierCount ?? 0),
            pattern.share >= Self.leastShareOfPattern
        else { return found }
        return pattern
    }

    /// Fewer repeated features agree by chance.
    private static let fewestOfPattern = 12
    /// The letters of another text agree in a smaller share: 0.12 at most where patterns have 0.32 and more
    /// (`calibration_sets.py`, seed 2).
    private static let leastShareOfPattern = 0.2
}

extension LocalFeatureQuery {
    /// A query for a catalog image, made of its stored features: finds the same picture in other images of the catalog.
    public init(_ image: LocalFeatures, model: LocalFeatureModel) {
        let descriptors = model.vocabulary.descriptors(image.codes, words: image.words)
        self.init(
            QueryFeatures(
                width: image.width, height: image.height, keypoints: image.keypoints, descriptors: descriptors),
            model: model)
    }
}

/// The local features of a query image: keypoints with projected descriptors in float32.
public struct QueryFeatures: Sendable {
    /// The size of the image in which the keypoints were detected, in pixels.
    public let width: Int
    /// The height of that image, in pixels.
    public let height: Int
    /// The keypoints, strongest first.
    public let keypoints: [Keypoint]
    /// Unit vectors of ``LocalFeatureModel/dimension`` components, one after another.
    package let descriptors: [Float]

    /// The number of features.
    public var count: Int { keypoints.count }
}

extension QueryFeatures {
    /// The features with these numbers, in this order. O(features).
    package func selecting(_ numbers: [Int]) -> QueryFeatures {
        let dimension = LocalFeatureModel.dimension
        return QueryFeatures(
            width: width, height: height, keypoints: numbers.map { keypoints[$0] },
            descriptors: numbers.flatMap { descriptors[($0 * dimension)..<(($0 + 1) * dimension)] })
    }
}
