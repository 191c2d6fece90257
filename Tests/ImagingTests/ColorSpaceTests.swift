import Foundation
import Imaging
import Testing

/// Pixels in memory that are not sRGB, against what lcms2 makes of the same pixels in a file.
struct ColorSpaceTests {
    /// The colors of the fixtures that are named “cube”.
    private static let cube: [UInt8] = (0..<729).flatMap { index in
        [index % 9, index / 9 % 9, index / 81].map { UInt8(min(255, $0 * 32)) }
    }

    private static let spaces: [(PixelColorSpace, String)] = [
        (.displayP3, "cube-display-p3.png"), (.adobeRGB, "cube-adobe-rgb.png"), (.bt2020, "cube-bt2020.png"),
    ]

    private static func buffer(_ space: PixelColorSpace, _ format: PixelFormat) throws -> PixelBuffer {
        let offsets = format.redGreenBlueOffsets
        var bytes = [UInt8](repeating: 255, count: 729 * format.bytesPerPixel)
        for index in 0..<729 {
            bytes[index * format.bytesPerPixel + offsets.red] = cube[3 * index]
            bytes[index * format.bytesPerPixel + offsets.green] = cube[3 * index + 1]
            bytes[index * format.bytesPerPixel + offsets.blue] = cube[3 * index + 2]
        }
        return try PixelBuffer(wrapping: bytes, width: 27, height: 27, format: format, colorSpace: space)
    }

    @Test(arguments: spaces) func bytesAreConvertedLikeLCMS(space: PixelColorSpace, name: String) throws {
        let expected = FormatTests.colors(try #require(FormatTests.expected[name]).rgb)
        for format in [PixelFormat.rgb8, .bgra8, .rgba8] {
            let image = try Self.buffer(space, format).convertedToSRGB()
            #expect(image.colorSpace == .sRGB)
            let colors = FormatTests.colors(image)
            #expect(zip(colors, expected).allSatisfy { ColorDifference.deltaE($0, $1) < 1 })
            #expect(FormatTests.largestStep(colors, expected) <= 3)
        }
    }

    /// The image at its own size, so that nothing is filtered.
    @Test(arguments: spaces) func resizedImagesAreConvertedLikeLCMS(space: PixelColorSpace, name: String) throws {
        let expected = FormatTests.colors(try #require(FormatTests.expected[name]).rgb)
        let image = try Self.buffer(space, .bgra8)
        let resized = Resizer(width: 27, height: 27).resizedPixels(of: image)
        #expect(zip(FormatTests.colors(resized), expected).allSatisfy { ColorDifference.deltaE($0, $1) < 1 })

        // The layout's factors come after the conversion.
        let plain = Resizer(width: 27, height: 27).resize(image)
        var scaled = [Float](repeating: 0, count: 27 * 27 * 4)
        let layout = FloatImageLayout(
            rowStride: 27 * 4, pixelStride: 4, multiply: (2, 3, 4), add: (0.5, -1, 0.25))
        scaled.withUnsafeMutableBufferPointer {
            Resizer(width: 27, height: 27).resize(image, into: $0, layout: layout)
        }
        let (factors, summands): ([Float], [Float]) = ([2, 3, 4], [0.5, -1, 0.25])
        for index in 0..<729 {
            for c in 0..<3 {
                #expect(abs(scaled[4 * index + c] - (plain[3 * index + c] * factors[c] + summands[c])) < 1e-5)
            }
        }
    }

    @Test func partsAndReductionsKeepTheColorSpace() throws {
        let image = try Self.buffer(.displayP3, .bgra8)
        #expect(try image.cropped(to: PixelRegion(x: 1, y: 2, width: 3, height: 4)).colorSpace == .displayP3)
        #expect(BoxReducer(factor: 3).reduce(image).colorSpace == .displayP3)
        #expect(try PixelBuffer(decoding: image.convertedToSRGB().pngData()).colorSpace == .sRGB)
        let encoded = try Self.buffer(.displayP3, .rgb8)
        #expect(
            try FormatTests.colors(PixelBuffer(decoding: encoded.pngData()))
                == FormatTests.colors(encoded.convertedToSRGB()))
    }

    @Test func rectifiedViewsAreConverted() throws {
        let red = [UInt8](repeating: 0, count: 64 * 64 * 4).enumerated().map { index, _ in
            index % 4 == 0 ? UInt8(200) : index % 4 == 3 ? 255 : 40
        }
        func view(_ space: PixelColorSpace) throws -> [Float] {
            let image = try PixelBuffer(wrapping: red, width: 64, height: 64, format: .rgba8, colorSpace: space)
            let all = Quadrilateral(
                topLeft: .init(x: 0.1, y: 0.1), topRight: .init(x: 0.9, y: 0.1), bottomRight: .init(x: 0.9, y: 0.9),
                bottomLeft: .init(x: 0.1, y: 0.9))
            return Rectifier(width: 8, height: 8).rectify(all, of: image)
        }
        let (plain, wide) = (try view(.sRGB), try view(.displayP3))
        // A red of P3 is a stronger one in sRGB.
        #expect(wide[0] > plain[0] + 0.04)
        #expect(wide[1] < plain[1])
    }
}
