import Imaging

/// An image, or a part of one that is looked at straight.
public struct ImageRegion: Sendable {
    public let image: PixelBuffer
    /// Nil for the whole image.
    public let part: Quadrilateral?

    public init(_ image: PixelBuffer, part: Quadrilateral? = nil) {
        self.image = image
        self.part = part
    }
}
