import Foundation
import ImageIO
import VideoToolbox
import VisualIntelligence

/// The image that a feature print is made of.
public typealias Picture = CGImage

extension CVReadOnlyPixelBuffer {
    /// The captured pixels as a picture; nil if they are in a format that has none.
    public var picture: Picture? {
        var image: CGImage?
        _ = withUnsafeBuffer { VTCreateCGImageFromCVPixelBuffer($0, options: nil, imageOut: &image) }
        return image
    }
}

/// The picture in a file.
public func picture(contentsOf url: URL) throws -> Picture {
    guard let source = CGImageSourceCreateWithURL(url as CFURL, nil),
        let image = CGImageSourceCreateImageAtIndex(source, 0, nil)
    else { throw CocoaError(.fileReadCorruptFile) }
    return image
}
