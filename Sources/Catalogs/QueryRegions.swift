import PixelBuffers

/// Which parts of a query image are embedded. The distance of an entity is the nearest over them.
///
/// A photograph often shows more than the thing in it; its middle shows the thing larger. Every
/// region costs a forward pass.
public enum QueryRegions: String, Sendable, CaseIterable {
    /// The whole image alone.
    case whole
    /// The whole image, and the middle 72 % of both sides.
    case centre
    /// Besides, the middle 86 % and 52 %.
    case centres

    public var fractions: [Double] {
        switch self {
        case .whole: [1]
        case .centre: [1, 0.72]
        case .centres: [1, 0.86, 0.72, 0.52]
        }
    }

    /// The regions of an image, sharing its memory.
    public func parts(of image: PixelBuffer) -> [PixelBuffer] {
        fractions.map { $0 == 1 ? image : image.centre($0) }
    }
}
