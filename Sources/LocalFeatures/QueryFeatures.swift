/// The local features of a query image: keypoints with projected descriptors in float32.
public struct QueryFeatures: Sendable {
    /// The size of the image in which the keypoints were detected, in pixels.
    public let width: Int
    /// The height of that image, in pixels.
    public let height: Int
    /// The keypoints, strongest first.
    public let keypoints: [Keypoint]
    /// Unit vectors of ``LocalFeatureModel/dimension`` components, one after another.
    let descriptors: [Float]

    /// The number of features.
    public var count: Int { keypoints.count }
}
