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

    /// The maximum number of bytes that decoding allocates at a time, beside the bytes of the file; 768 MiB by default.
    ///
    /// These are the pixels as they are stored (one byte per channel, alpha included), once more where the
    /// orientation turns them; and two bytes per coefficient of a JPEG file with several scans, whatever its scale.
    public var maximumMemory: Int

    /// Larger files are rejected before they are read. 512 MiB by default.
    public var maximumByteCount: Int

    /// The size in pixels that the image will be resized to. A JPEG file is then decoded at 1/2, 1/4 or 1/8 of its
    /// size, if both sides keep at least 1.5 times as many pixels: the inverse DCT of fewer coefficients costs a
    /// fraction of a full decode.
    public var neededSize: (width: Int, height: Int)?

    /// Options for decoding; without `neededSize` a JPEG file is decoded at its full size.
    public init(
        maximumPixelCount: Int = 1 << 28, maximumSide: Int = 65_535, maximumScanCount: Int = 64,
        maximumMemory: Int = 768 << 20, maximumByteCount: Int = 512 << 20,
        neededSize: (width: Int, height: Int)? = nil
    ) {
        self.maximumPixelCount = maximumPixelCount
        self.maximumSide = maximumSide
        self.maximumScanCount = maximumScanCount
        self.maximumMemory = maximumMemory
        self.maximumByteCount = maximumByteCount
        self.neededSize = neededSize
    }

    /// The eighths to decode at. Powers of two alone: libjpeg-turbo has SIMD code for those.
    func eighths(width: Int, height: Int) -> UInt32 {
        guard let neededSize else { return 8 }
        for eighths in [1, 2, 4]
        where width * eighths / 8 * 2 >= neededSize.width * 3 && height * eighths / 8 * 2 >= neededSize.height * 3 {
            return UInt32(eighths)
        }
        return 8
    }
}
