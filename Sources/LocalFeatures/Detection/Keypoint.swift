/// A point of an image that can be found again from another distance, angle or direction of light, with its size and
/// orientation.
///
/// D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004.
public struct Keypoint: Sendable, Hashable {
    /// In pixels of the image that the keypoint was detected in; the center of the top left pixel is (0, 0).
    public var x: Float
    /// In pixels, like ``x``; downward.
    public var y: Float
    /// The standard deviation of the Gaussian at which the point stands out, in pixels.
    public var scale: Float
    /// The direction of the dominant gradient in radians, 0..<2π, clockwise from the x axis.
    public var angle: Float

    /// A keypoint at a position, with its scale and direction.
    public init(x: Float, y: Float, scale: Float, angle: Float) {
        self.x = x
        self.y = y
        self.scale = scale
        self.angle = angle
    }
}
