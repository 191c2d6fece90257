// Pixels become something that has a print; the programs know here alone which platform they are on.

#if canImport(AppIntents)
import CoreVideo
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

/// The maximum distance of a match, on the scale of Vision's prints.
public func largestDistance() throws -> Double { 1 }
#else
import VisualSearchMacros

/// The image that a feature print is made of.
public typealias Picture = PixelBuffer

extension CVReadOnlyPixelBuffer {
    /// The captured pixels as a picture.
    public var picture: Picture? { self }
}

/// The picture in a file.
public func picture(contentsOf url: URL) throws -> Picture { try PixelBuffer(contentsOf: url) }

/// The maximum distance of a match, on the scale of the default model's prints.
public func largestDistance() throws -> Double { try FeaturePrintModel.default().matchThreshold ?? 1 }
#endif
