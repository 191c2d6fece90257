import Imaging

/// An image to embed, or a quadrilateral of one that is rectified first.
public struct ImageCrop: Sendable {
    /// The image.
    public let image: PixelBuffer
    /// Nil for the whole image.
    public let quadrilateral: Quadrilateral?

    /// A crop of an image.
    ///
    /// - Parameter quadrilateral: the part to rectify, as fractions of the sides; nil for the whole image.
    public init(_ image: PixelBuffer, quadrilateral: Quadrilateral? = nil) {
        self.image = image
        self.quadrilateral = quadrilateral
    }
}
