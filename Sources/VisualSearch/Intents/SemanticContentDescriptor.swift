import Imaging

/// Captured content: the pixels of a photo or of part of a screenshot, and words for what it shows. Either may be
/// missing.
public struct SemanticContentDescriptor: Sendable {
    /// The output of a classifier, such as `album` or `poster`.
    public let labels: [String]
    public let pixelBuffer: CVReadOnlyPixelBuffer?

    public init(labels: [String] = [], pixelBuffer: CVReadOnlyPixelBuffer? = nil) {
        self.labels = labels
        self.pixelBuffer = pixelBuffer
    }
}

/// The name that handlers know a buffer of pixels by. Core Video's functions for it are not here;
/// a `PixelBuffer` goes into a search as it is.
public typealias CVReadOnlyPixelBuffer = PixelBuffer
