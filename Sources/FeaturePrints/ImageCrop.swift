import Imaging

/// An image to embed, or a quadrilateral of one that is rectified first.
public struct ImageCrop: Sendable {
    public let image: PixelBuffer
    /// Nil for the whole image.
    public let quadrilateral: Quadrilateral?

    public init(_ image: PixelBuffer, quadrilateral: Quadrilateral? = nil) {
        self.image = image
        self.quadrilateral = quadrilateral
    }
}
