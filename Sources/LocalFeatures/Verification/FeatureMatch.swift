/// A keypoint of a query and the keypoint of a catalog image with the nearest descriptor.
struct FeatureMatch: Sendable, Hashable {
    let query: Keypoint
    /// The number of the query's keypoint.
    let queryIndex: Int
    let catalog: Keypoint
    /// The distance to the nearest descriptor over that to the second nearest; lower is more distinctive.
    let ratio: Float
}
