import Foundation
import Imaging
import TestSupport
import Testing

/// What transparent images are composited over.
struct TransparencyTests {
    /// A square that is transparent but for its left part, whose upper half has one color and whose lower half another.
    private static func rgba(
        _ upper: [UInt8], _ lower: [UInt8]? = nil, alpha: UInt8 = 255, side: Int = 64, isPremultiplied: Bool = false
    ) -> [UInt8] {
        (0..<side * side).flatMap { index -> [UInt8] in
            guard index % side < side / 2 else { return [255, 255, 255, 0].map { isPremultiplied ? 0 : $0 } }
            let color = index / side < side / 2 ? upper : lower ?? upper
            return color.map { isPremultiplied ? UInt8(Int($0) * Int(alpha) / 255) : $0 } + [alpha]
        }
    }

    private static let white: [UInt8] = [255, 255, 255], black: [UInt8] = [0, 0, 0]

    private static func png(_ pixels: [UInt8], side: Int = 64) -> Data {
        let rows = (0..<side).reduce(Data()) { $0 + Data([0]) + Data(pixels[($1 * side * 4)..<(($1 + 1) * side * 4)]) }
        return PNGFile.file(width: side, height: side, colorType: 6, rows: rows)
    }

    /// The color of the ground, at the right.
    private static func ground(_ image: PixelBuffer) -> UInt8 {
        image.withUnsafeBytes { $0[image.width * image.format.bytesPerPixel - 1] }
    }

    @Test(
        arguments: [
            (white, nil, 255, 0), (black, nil, 255, 255), (white, black, 255, 128), ([200, 30, 30], white, 255, 0),
            ([255, 240, 0], nil, 255, 255), ([250, 250, 248], nil, 255, 0), (white, nil, 40, 0), (black, nil, 40, 255),
            ([128, 128, 128], nil, 255, 255), ([235, 235, 235], nil, 200, 0),
        ] as [([UInt8], [UInt8]?, UInt8, UInt8)])
    func theGroundContrastsWithTheImage(upper: [UInt8], lower: [UInt8]?, alpha: UInt8, ground: UInt8) throws {
        let file = try PixelBuffer(decoding: Self.png(Self.rgba(upper, lower, alpha: alpha)))
        #expect(Self.ground(file) == ground)
        #expect(file.decodingNotes.isEmpty)
        // The same pixels in memory.
        for isPremultiplied in [false, true] {
            let pixels = Self.rgba(upper, lower, alpha: alpha, isPremultiplied: isPremultiplied)
            let image = try PixelBuffer(
                pixels, width: 64, height: 64, format: .rgba8, alpha: isPremultiplied ? .premultiplied : .straight)
            let flat = image.overContrastingGround()
            if ground == 255 {
                #expect(flat.alpha == image.alpha, "it stays as it is")
            } else {
                let difference = zip(FormatTests.colors(flat).joined(), FormatTests.colors(file).joined())
                #expect(difference.allSatisfy { abs(Int($0) - Int($1)) <= 1 })
            }
        }
    }

    @Test func imagesInWhichNothingIsToBeSeenGetANote() throws {
        for (alpha, count) in [(0, 1), (3, 1), (60, 0)] as [(UInt8, Int)] {
            let image = try PixelBuffer(decoding: Self.png(Self.rgba(Self.white, alpha: alpha)))
            #expect(image.decodingNotes.count == count, "alpha \(alpha)")
            #expect(image.decodingNotes.allSatisfy { $0.contains("nothing is to be seen") })
        }
    }

    /// The pixels of a grid are looked at, and all of them where these are transparent.
    @Test func smallMarksOnLargeImagesCount() throws {
        let side = 600
        var pixels = [UInt8](repeating: 0, count: side * side * 4)
        for channel in 0..<4 { pixels[(301 * side + 301) * 4 + channel] = 255 }
        let image = try PixelBuffer(decoding: Self.png(pixels, side: side))
        #expect(Self.ground(image) == 0 && image.decodingNotes.isEmpty)
    }

    @Test func opaqueImagesWithAlphaStay() throws {
        let opaque = try PixelBuffer(
            [UInt8](repeating: 255, count: 64 * 64 * 4), width: 64, height: 64, format: .bgra8)
        #expect(opaque.overContrastingGround().format == .bgra8)
    }
}
