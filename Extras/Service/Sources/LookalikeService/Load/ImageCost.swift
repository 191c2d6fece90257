#if Service
import Foundation
import Lookalike

/// What an image takes to decode, by its header: bytes of pixels as the decoder reads them.
struct ImageCost: Sendable {
    let bytes: Int

    /// The cost of an image file; zero for one that is refused by its header.
    init(of data: Data, limits: DecodingOptions) {
        var options = limits
        // The decoder names the size that it refuses.
        options.maximumPixelCount = 0
        do throws(ImageError) {
            _ = try PixelBuffer(decoding: data, named: "image", options: options)
            bytes = 0
        } catch {
            guard case .tooManyPixels(let width, let height, _) = error.reason,
                case let (pixels, isTooLarge) = width.multipliedReportingOverflow(by: height), !isTooLarge,
                pixels <= limits.maximumPixelCount
            else {
                bytes = 0
                return
            }
            bytes = pixels * Self.bytesPerPixel(of: data)
        }
    }

    private static func bytesPerPixel(of data: Data) -> Int {
        let head = Array(data.prefix(26))
        // A large photograph is decoded at a part of its size, but a progressive one has all its scans in memory.
        if head.starts(with: [0xFF, 0xD8]) { return isProgressive(data) ? 4 : 1 }
        guard head.count == 26, head.starts(with: [0x89, 0x50, 0x4E, 0x47]) else { return 4 }
        // Bit depth and color type (PNG specification, third edition, section 11.2.1).
        let channels = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][head[25]] ?? 4
        return channels * max(1, Int(head[24]) / 8)
    }

    /// Whether the frame of a JPEG file is progressive (ITU-T T.81, table B.1).
    private static func isProgressive(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            var at = 2
            while at + 4 <= bytes.count, bytes[at] == 0xFF {
                let marker = bytes[at + 1]
                if marker == 0xFF {
                    at += 1
                    continue
                }
                if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                    return [0xC2, 0xC6, 0xCA, 0xCE].contains(marker)
                }
                at += 2 + (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
            }
            return false
        }
    }
}
#endif
