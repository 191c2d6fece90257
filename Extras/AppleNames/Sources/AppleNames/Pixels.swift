#if os(Linux) && AppleNames
@_exported public import AppleShapes
@_exported public import VisualSearch

// The names of Core Graphics, Core Video, Core Image, VideoToolbox and Image I/O that a handler converts captured
// pixels with. All images are pixel buffers, so nothing is converted.

/// Core Graphics' name for an image.
public typealias CGImage = PixelBuffer
/// Core Video's name for pixels in memory.
public typealias CVPixelBuffer = PixelBuffer
/// Core Foundation's name for a URL.
public typealias CFURL = URL
/// Core Foundation's name for bytes.
public typealias CFData = Data
/// Core Foundation's name for values by key.
public typealias CFDictionary = [String: any Sendable]
/// The result of a function of VideoToolbox or Core Video; 0 is success.
public typealias OSStatus = Int32
/// The result of a function of Core Video; 0 is success.
public typealias CVReturn = Int32

/// Success.
public let noErr: OSStatus = 0
/// Success.
public let kCVReturnSuccess: CVReturn = 0

extension PixelBuffer {
    /// Calls a closure with the buffer itself.
    public func withUnsafeBuffer<Result, Failure: Error>(
        _ body: (CVPixelBuffer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self)
    }
}

/// The number of pixels in a row.
public func CVPixelBufferGetWidth(_ pixelBuffer: CVPixelBuffer) -> Int { pixelBuffer.width }

/// The number of rows.
public func CVPixelBufferGetHeight(_ pixelBuffer: CVPixelBuffer) -> Int { pixelBuffer.height }

/// Gives the pixels as an image, without a copy.
///
/// - Parameters:
///   - options: not used.
///   - imageOut: receives the image.
/// - Returns: ``noErr``.
@discardableResult
public func VTCreateCGImageFromCVPixelBuffer(
    _ pixelBuffer: CVPixelBuffer, options: CFDictionary?, imageOut: UnsafeMutablePointer<CGImage?>
) -> OSStatus {
    imageOut.pointee = pixelBuffer
    return noErr
}

/// Core Image's name for an image, here one without filters.
public struct CIImage: Sendable {
    /// The whole image, in pixels.
    public let extent: CGRect
    fileprivate let pixels: PixelBuffer

    /// An image of captured pixels.
    public init(cvPixelBuffer: CVPixelBuffer) {
        pixels = cvPixelBuffer
        extent = CGRect(x: 0, y: 0, width: cvPixelBuffer.width, height: cvPixelBuffer.height)
    }

    /// An image of an image.
    public init(cgImage: CGImage) { self.init(cvPixelBuffer: cgImage) }

    /// The image in a file; nil if it cannot be read.
    public init?(contentsOf url: URL) {
        guard let image = try? PixelBuffer(contentsOf: url) else { return nil }
        self.init(cgImage: image)
    }

    /// The image in the bytes of a file; nil if they cannot be read.
    public init?(data: Data) {
        guard let image = try? PixelBuffer(decoding: data, named: "image") else { return nil }
        self.init(cgImage: image)
    }
}

/// Core Image's name for what draws images.
public final class CIContext: Sendable {
    /// A context.
    public init() {}

    /// The part of an image that lies in a rectangle, without a copy; nil if there is none. As in Core Image, the
    /// origin is at the bottom left.
    public func createCGImage(_ image: CIImage, from rectangle: CGRect) -> CGImage? {
        let part = rectangle.intersection(image.extent).integral
        guard part.width >= 1, part.height >= 1 else { return nil }
        return try? image.pixels.cropped(
            to: PixelRegion(
                x: Int(part.minX), y: image.pixels.height - Int(part.maxY), width: Int(part.width),
                height: Int(part.height)))
    }
}

/// Image I/O's name for a file with an image.
public struct CGImageSource: Sendable {
    fileprivate let image: PixelBuffer
}

/// The source of the image in a file; nil if it cannot be read.
///
/// - Parameter options: not used.
public func CGImageSourceCreateWithURL(_ url: CFURL, _ options: CFDictionary?) -> CGImageSource? {
    (try? PixelBuffer(contentsOf: url)).map { CGImageSource(image: $0) }
}

/// The source of the image in the bytes of a file; nil if they cannot be read.
///
/// - Parameter options: not used.
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? {
    (try? PixelBuffer(decoding: data, named: "image")).map { CGImageSource(image: $0) }
}

/// The image of a source, upright; nil for another one than the first.
///
/// - Parameter options: not used.
public func CGImageSourceCreateImageAtIndex(
    _ source: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? {
    index == 0 ? source.image : nil
}
#endif
