import CImageCodecs
public import Foundation

extension PixelBuffer {
    /// The bytes of a PNG file of an opaque gray or RGB buffer.
    ///
    /// - Throws: ``ImageError`` when the format is one with alpha or the encoder fails.
    public func pngData(named name: String = "image") throws(ImageError) -> Data {
        // The file says nothing about its colors, which means sRGB.
        guard colorSpace == .sRGB else { return try convertedToSRGB().pngData(named: name) }
        return try encoded(named: name) { pixels, channels, file, count, message in
            lk_png_encode(pixels, UInt32(width), UInt32(height), channels, bytesPerRow, file, count, message)
        }
    }

    /// The bytes of a baseline JPEG file of an opaque gray or RGB buffer; `quality` is 1...100.
    ///
    /// - Throws: ``ImageError`` when the format is one with alpha or the encoder fails.
    public func jpegData(quality: Int = 85, named name: String = "image") throws(ImageError) -> Data {
        guard colorSpace == .sRGB else { return try convertedToSRGB().jpegData(quality: quality, named: name) }
        return try encoded(named: name) { pixels, channels, file, count, message in
            lk_jpeg_encode(
                pixels, UInt32(width), UInt32(height), channels, bytesPerRow,
                Int32(min(max(quality, 1), 100)), file, count, message)
        }
    }

    private func encoded(
        named name: String,
        with encode: (
            UnsafePointer<UInt8>, UInt32, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
            UnsafeMutablePointer<Int>, UnsafeMutablePointer<CChar>
        ) -> Bool
    ) throws(ImageError) -> Data {
        guard !format.hasAlpha else {
            throw ImageError(
                subject: name, reason: .unwritable("\(format.rawValue) is not supported; convert it to rgb8"))
        }
        var file: UnsafeMutablePointer<UInt8>?
        var count = 0
        let words: String? = withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(LK_CODEC_MESSAGE_LENGTH)) { message in
                message.initialize(repeating: 0)
                guard let base = message.baseAddress,
                    let pixels = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                else { return "no pixels" }
                let done = encode(pixels, UInt32(format.bytesPerPixel), &file, &count, base)
                return done ? nil : String(cString: base)
            }
        }
        guard words == nil, let file else {
            throw ImageError(subject: name, reason: .unwritable(words ?? "the encoder returned no bytes"))
        }
        return Data(bytesNoCopy: file, count: count, deallocator: .free)
    }
}
