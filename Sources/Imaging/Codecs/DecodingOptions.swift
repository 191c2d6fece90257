/// Limits and shortcuts of decoding.
public struct DecodingOptions: Sendable {
    /// Images with more pixels are rejected before anything is allocated. 2²⁸ by default: a buffer of at most 1 GiB.
    public var maximumPixelCount: Int

    /// Larger files are rejected before they are read. 512 MiB by default.
    public var maximumByteCount: Int

    /// The size in pixels that the image will be resized to. A JPEG file is then decoded at 1/2, 1/4 or 1/8 of its
    /// size, if both sides keep at least 1.5 times as many pixels: the inverse DCT of fewer coefficients costs a
    /// fraction of a full decode.
    public var neededSize: (width: Int, height: Int)?

    /// Options for decoding; without `neededSize` a JPEG file is decoded at its full size.
    public init(
        maximumPixelCount: Int = 1 << 28, maximumByteCount: Int = 512 << 20,
        neededSize: (width: Int, height: Int)? = nil
    ) {
        self.maximumPixelCount = maximumPixelCount
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
