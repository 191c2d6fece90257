import Imaging

/// Captured content: the pixels of a photo or of part of a screenshot, and words for what it shows. Either may be
/// missing.
public struct SemanticContentDescriptor: Sendable {
    /// The output of a classifier, such as `album` or `poster`.
    public let labels: [String]
    /// The captured pixels; nil for labels alone.
    public let pixelBuffer: CVReadOnlyPixelBuffer?

    /// Captured content. Without pixels and labels, searches find nothing.
    public init(labels: [String] = [], pixelBuffer: CVReadOnlyPixelBuffer? = nil) {
        self.labels = labels
        self.pixelBuffer = pixelBuffer
    }
}

/// Core Video's name for a buffer of pixels, as handlers use it. Core Video's functions do not exist here.
public typealias CVReadOnlyPixelBuffer = PixelBuffer
