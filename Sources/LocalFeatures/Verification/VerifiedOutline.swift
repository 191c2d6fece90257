import Imaging

/// Where a query shows an image, and how many features agree on it.
public struct VerifiedOutline: Sendable, Hashable {
    /// The query's keypoints that the homography maps to within the tolerance, at most two per 25th of the image.
    public let inliers: [Int]
    /// The features of the image that had a match.
    public let matchCount: Int
    /// The image's corners in the query, as fractions of the query's sides.
    public let outline: Quadrilateral

    /// The number of matches that agree on the homography.
    public var inlierCount: Int { inliers.count }
}
