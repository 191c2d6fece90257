#if LK_HEIF
import Foundation
import Imaging
import Testing

/// Files whose coded image is larger than their header says.
struct HEIFSizeTests {
    private static let folder = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

    private static func data(_ name: String) throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent(name))
    }

    /// A kilobyte holds any number of pixels of one color, and decoders allocate what their bitstream asks for.
    @Test(arguments: [
        "larger-than-its-header.heic", "larger-than-its-header.avif", "tile-larger-than-its-header.heic",
        "alpha-larger-than-its-header.heic",
    ])
    func aLargerImageIsRefusedBeforeItIsDecoded(name: String) throws {
        let file = try Self.data(name)
        #expect(FormatTests.reason(file) == .damaged("its image is larger than its header says"))
        // The reduced size comes from the same image.
        let reduced = DecodingOptions(neededSize: (16, 16))
        #expect(FormatTests.reason(file, reduced) == .damaged("its image is larger than its header says"))
    }

    /// Limits are those of each call, while files are decoded on many threads.
    @Test func filesDecodedAtTheSameTimeKeepTheirLimits() async throws {
        let large = try Self.data("larger-than-its-header.heic")
        let tiled = try FormatTests.data("grid.heic")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask { #expect(FormatTests.reason(large) != nil) }
                group.addTask { #expect(FormatTests.reason(tiled) == nil) }
            }
        }
    }

    /// The size of the canvas is beside that of the image.
    @Test func theCanvasOfTilesCountsForTheLimits() throws {
        var file = try FormatTests.data("grid.heic")
        let grid = try #require(file.range(of: Data([0, 0, 1, 1, 0, 80, 0, 70])))
        file.replaceSubrange(grid.lowerBound + 4..<grid.upperBound, with: [0x40, 0, 0x40, 0])
        #expect(
            FormatTests.reason(file, DecodingOptions(maximumPixelCount: 1 << 20))
                == .tooManyPixels(width: 16_384, height: 16_384, limit: 1 << 20))
        guard case .tooMuchMemory = FormatTests.reason(file) else {
            Issue.record("\(String(describing: FormatTests.reason(file)))")
            return
        }
        // Within the limits of the call, but not the size of the image.
        file.replaceSubrange(grid.lowerBound + 4..<grid.upperBound, with: [1, 0, 1, 0])
        #expect(FormatTests.reason(file) != nil)
    }

    /// libheif reads beyond its end when it puts colors and alpha side by side.
    @Test func aSmallerAlphaChannelIsStretched() throws {
        let image = try PixelBuffer(decoding: Self.data("alpha-smaller-than-its-header.heic"))
        try #require(image.width == 128 && image.height == 128)
        image.withUnsafeBytes { bytes in
            for (x, y, expected) in [(8, 100, [255, 255, 255]), (120, 8, [200, 30, 40])] {
                let at = (y * 128 + x) * 3
                let found = bytes[at..<at + 3].map { Int($0) }
                #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 6 }, "\(found) at \(x), \(y)")
            }
        }
    }

    /// libheif reads the last one, HEIFTiles the first.
    @Test func severalMetaBoxesAreRefused() throws {
        let file = try FormatTests.data("grid.heic")
        let meta = try #require(file.range(of: Data("meta".utf8))).lowerBound - 4
        let size = file[meta..<meta + 4].reduce(0) { $0 << 8 | Int($1) }
        #expect(
            FormatTests.reason(file + file[meta..<meta + size]) == .damaged("it has several meta boxes"))
    }

    /// An image is decoded before it is cropped.
    @Test func whatIsCroppedAwayCountsAsMemory() throws {
        var file = try FormatTests.data("full-chroma.heic")
        try #require(file.range(of: Data("clap".utf8)) != nil)
        let size = try #require(file.range(of: Data("ispe".utf8)))
        // 30,000 × 30,000 pixels, of which 24 × 16 are shown.
        file.replaceSubrange(
            size.upperBound + 4..<size.upperBound + 12, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])
        guard case .tooMuchMemory = FormatTests.reason(file) else {
            Issue.record("\(String(describing: FormatTests.reason(file)))")
            return
        }
    }
}
#endif
