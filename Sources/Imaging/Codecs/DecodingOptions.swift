import Compute

/// Limits and shortcuts of decoding.
///
/// An image beyond a limit is refused with an ``ImageError`` that names the limit, after its header and before memory
/// for its pixels is allocated. The defaults admit photographs of 200 megapixels.
public struct DecodingOptions: Sendable {
    /// The maximum number of pixels, 2²⁸ by default.
    public var maximumPixelCount: Int

    /// The maximum width and height in pixels, 65,535 by default.
    public var maximumSide: Int

    /// The maximum number of scans of a progressive JPEG file, 64 by default; encoders write about ten.
    ///
    /// Each scan costs time for the whole image, and takes few bytes in the file.
    public var maximumScanCount: Int

    /// The maximum number of tiles of a HEIC or AVIF file, 1,024 by default; a photograph of 200 megapixels has 763.
    ///
    /// Each tile costs the time to decode it, and takes two bytes in the file if it repeats another one.
    public var maximumTileCount: Int

    /// The maximum number of bytes that decoding allocates at a time, beside the bytes of the file; 768 MiB by default.
    ///
    /// The limit counts the pixels as they are stored (one byte per channel, alpha included), once more where the
    /// orientation turns them; two bytes per coefficient of a JPEG file with several scans, whatever its scale; four
    /// bytes per pixel of a lossless WebP file; twice the pixels of a HEIC or AVIF file, four times with more than
    /// eight bits per channel; and a strip or tile of a TIFF file.
    public var maximumMemory: Int

    /// The maximum size of a file in bytes, 512 MiB by default; a larger one is refused before it is read.
    public var maximumByteCount: Int

    /// The size in pixels that the upright image will be resized to. A JPEG or WebP file is then decoded at 1/2, 1/4 or
    /// 1/8 of its size, if both sides keep at least 1.5 times as many pixels, and of a HEIC or AVIF file a thumbnail of
    /// its shape is read if that has as many, and alpha where the image has it. The inverse DCT of fewer coefficients
    /// of a JPEG file costs a fraction of a full decode.
    public var neededSize: (width: Int, height: Int)?

    /// The long side in pixels that the image will be scaled to with its proportions kept, as for a thumbnail. The file
    /// is then decoded at a smaller size if its long side keeps at least 1.5 times as many pixels, and `neededSize`
    /// allows it too.
    public var neededLongSide: Int?

    /// The long side in pixels above which an image is large, and the pixels that it keeps of it at least: large images
    /// are searched in tiles, which need more than `neededSize` allows.
    public var largeImages: (above: Int, keptLongSide: Int)?

    /// Options for decoding; without `neededSize` and `neededLongSide` files are decoded at their full size.
    public init(
        maximumPixelCount: Int = 1 << 28, maximumSide: Int = 65_535, maximumScanCount: Int = 64,
        maximumTileCount: Int = 1024, maximumMemory: Int = 768 << 20, maximumByteCount: Int = 512 << 20,
        neededSize: (width: Int, height: Int)? = nil, neededLongSide: Int? = nil,
        largeImages: (above: Int, keptLongSide: Int)? = nil
    ) {
        self.maximumPixelCount = maximumPixelCount
        self.maximumSide = maximumSide
        self.maximumScanCount = maximumScanCount
        self.maximumTileCount = maximumTileCount
        self.maximumMemory = maximumMemory
        self.maximumByteCount = maximumByteCount
        self.neededSize = neededSize
        self.neededLongSide = neededLongSide
        self.largeImages = largeImages
    }

    /// Options with another size limit: higher for large scans, or lower to refuse more images.
    ///
    /// Above the default number of pixels, the limits on memory and file size are 12 and 8 bytes per pixel. Otherwise
    /// they keep their defaults.
    ///
    /// - Parameter maximumMegapixels: millions of pixels, above 0 and up to 4,294, which are 65,535 × 65,535 pixels.
    public init(maximumMegapixels: Double) {
        require(maximumMegapixels > 0 && maximumMegapixels <= 4294, "\(maximumMegapixels) is not in 0...4294")
        self.init(maximumPixelCount: Int((maximumMegapixels * 1e6).rounded()))
        guard maximumPixelCount > DecodingOptions().maximumPixelCount else { return }
        // This is enough for the coefficients of a progressive JPEG file, or a TIFF file of a single strip.
        maximumMemory = 12 * maximumPixelCount
        // This is enough for four channels of 16 bits.
        maximumByteCount = 8 * maximumPixelCount
    }

    /// The eighths of its size at which to decode an image: powers of two alone, for which libjpeg-turbo has SIMD code.
    ///
    /// - Parameters:
    ///   - width: the width of the image as it is stored, like the height.
    ///   - orientation: the orientation by EXIF, 1...8.
    func eighths(width: Int, height: Int, orientation: UInt16) -> UInt32 {
        guard neededSize != nil || neededLongSide != nil else { return 8 }
        let isTurned = ImageOrientation(exif: orientation).swapsAxes
        let (width, height) = isTurned ? (height, width) : (width, height)
        // No side of an image is as long as the largest integers, whose multiples would overflow.
        func isEnough(_ side: Int, for needed: Int, at eighths: Int) -> Bool {
            needed <= side && side * eighths / 8 * 2 >= max(0, needed) * 3
        }
        for eighths in [1, 2, 4]
        where isEnough(width, for: neededSize?.width ?? 0, at: eighths)
            && isEnough(height, for: neededSize?.height ?? 0, at: eighths)
            && isEnough(max(width, height), for: neededLongSide ?? 0, at: eighths)
            && keepsEnough(max(width, height) * eighths / 8, of: max(width, height))
        {
            return UInt32(eighths)
        }
        return 8
    }

    /// Whether an image may be decoded with so many pixels of its long side as far as ``largeImages`` says.
    func keepsEnough(_ kept: Int, of longSide: Int) -> Bool {
        largeImages.map { longSide <= $0.above || kept >= $0.keptLongSide } ?? true
    }
}
