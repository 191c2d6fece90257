import Compute
import Imaging
import TestSupport
import Testing

struct BoxReducerTests {
    @Test(arguments: PixelFormat.allCases, [1, 2, 3, 7, 16]) func isTheMeanOfSquares(format: PixelFormat, factor: Int)
        throws
    {
        var random = SeededGenerator(seed: UInt64(factor))
        let (width, height, gap) = (67, 41, 9)
        let channels = format.bytesPerPixel
        let stride = width * channels + gap
        let bytes = random.bytes(stride * height)
        let image = try PixelBuffer(bytes, width: width, height: height, bytesPerRow: stride, format: format)
        for simd in SIMDTarget.available {
            let reduced = BoxReducer(factor: factor, simd: simd).reduce(image)
            guard factor > 1, format != .gray8 else {
                #expect(reduced.width == width && reduced.format == format)
                continue
            }
            #expect((reduced.width, reduced.height) == (width / factor, height / factor))
            #expect(reduced.alpha == image.alpha)
            reduced.withUnsafeBytes { result in
                for y in 0..<reduced.height {
                    for x in 0..<reduced.width {
                        for channel in 0..<channels {
                            var sum = 0
                            for dy in 0..<factor {
                                for dx in 0..<factor {
                                    sum += Int(
                                        bytes[(y * factor + dy) * stride + (x * factor + dx) * channels + channel])
                                }
                            }
                            let mean = Double(sum) / Double(factor * factor)
                            let found = Double(result[y * reduced.bytesPerRow + x * 4 + channel])
                            // Rounded; on a tie, as the float of the mean falls.
                            #expect(abs(found - mean) <= 0.5001, "\(simd.name), (\(x), \(y)), channel \(channel)")
                        }
                    }
                }
            }
        }
    }

    @Test func leavesWhatItCannotMean() throws {
        let straight = try PixelBuffer(
            [UInt8](repeating: 9, count: 400), width: 10, height: 10, format: .rgba8, alpha: .straight)
        #expect(BoxReducer(factor: 2).reduce(straight).width == 10)
        let narrow = try PixelBuffer([UInt8](repeating: 9, count: 30), width: 10, height: 1, format: .rgb8)
        #expect(BoxReducer(factor: 2).reduce(narrow).width == 10)
    }
}
