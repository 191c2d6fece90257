import Foundation
import Imaging
import TestSupport
import Testing

private let fixtures = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

struct DecodingTests {
    struct Expected: Decodable, Sendable {
        let width: Int
        let height: Int
        let tolerance: Int
        let rgb: [Int]
    }

    static let expected: [String: Expected] = {
        let data = try! Data(contentsOf: fixtures.appendingPathComponent("expected.json"))
        return try! JSONDecoder().decode([String: Expected].self, from: data)
    }()

    @Test(arguments: expected.keys.sorted()) func showsWhatTheFileShows(name: String) throws {
        let expected = try #require(Self.expected[name])
        let image = try PixelBuffer(contentsOf: fixtures.appendingPathComponent(name))
        #expect((image.width, image.height) == (expected.width, expected.height))
        var worst = 0
        image.withUnsafeBytes { bytes in
            let offsets = image.format.redGreenBlueOffsets
            for y in 0..<image.height {
                for x in 0..<image.width {
                    let at = y * image.bytesPerRow + x * image.format.bytesPerPixel
                    for (c, offset) in [offsets.red, offsets.green, offsets.blue].enumerated() {
                        worst = max(worst, abs(Int(bytes[at + offset]) - expected.rgb[(y * image.width + x) * 3 + c]))
                    }
                }
            }
        }
        #expect(worst <= expected.tolerance)
    }

    @Test(arguments: [
        "color6-depth16-interlaced.png", "color3-depth4.png", "baseline.jpg", "progressive.jpg", "cmyk.jpg",
    ])
    func everyTruncationIsAnErrorThatNamesTheFile(name: String) throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent(name))
        for count in 0..<whole.count {
            let error = #expect(throws: ImageError.self, "\(count) of \(whole.count) bytes") {
                try PixelBuffer(decoding: whole.prefix(count), named: name)
            }
            #expect(error?.description.hasPrefix("\(name): ") == true)
        }
    }

    @Test(arguments: [
        "color2-depth8.png", "palette-transparent.png", "subsampled.jpg", "progressive.jpg", "orientation6.jpg",
    ])
    func damageNeverCrashes(name: String) throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent(name))
        var random = SeededGenerator(seed: 41)
        var failures = 0
        for _ in 0..<800 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[bytes.startIndex + Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            // A damaged header may claim any size; a limit keeps the test small.
            do { _ = try PixelBuffer(decoding: bytes, options: DecodingOptions(maximumPixelCount: 1 << 20)) } catch {
                failures += 1
            }
        }
        #expect(failures > 100, "seed 41: damage goes unnoticed")
    }

    @Test func filesThatAreNoImages() throws {
        let folder = try TemporaryFolder()
        func reason(_ url: URL) -> ImageError.Reason? {
            do { _ = try PixelBuffer(contentsOf: url) } catch {
                #expect(error.description.contains(url.path))
                return error.reason
            }
            return nil
        }
        #expect(reason(try folder.write(Data(), to: "empty.png")) == .empty)
        #expect(reason(try folder.write("GIF89a....", to: "really-a-gif.png")) == .unsupported("a GIF"))
        #expect(reason(try folder.write("RIFF....WEBPVP8 ", to: "really-a-webp.jpg")) == .unsupported("a WebP"))
        #expect(reason(try folder.write("hello", to: "text.jpg")) == .unsupported("of no known image format"))
        #expect(reason(folder.url) == .notAFile)
        guard case .unreadable = reason(folder.file("missing.png")) else {
            Issue.record("a missing file was read"); return
        }
        try FileManager.default.createSymbolicLink(
            at: folder.file("loop.png"), withDestinationURL: folder.file("loop.png"))
        guard case .unreadable = reason(folder.file("loop.png")) else {
            Issue.record("a link to itself was read"); return
        }
        #expect(mkfifo(folder.file("pipe.png").path, 0o600) == 0)
        #expect(reason(folder.file("pipe.png")) == .notAFile, "a pipe nobody writes to would wait for ever")
    }

    @Test func aFormatIsToldByItsBytes() throws {
        let folder = try TemporaryFolder()
        let data = try Data(contentsOf: fixtures.appendingPathComponent("baseline.jpg"))
        #expect(try PixelBuffer(contentsOf: folder.write(data, to: "a-jpeg.png")).width == 43)
    }

    @Test func hugeImagesAreRefusedBeforeTheyAreAllocated() throws {
        var png = try Data(contentsOf: fixtures.appendingPathComponent("color2-depth8.png"))
        // Width and height of the header, and its checksum left wrong where it is not checked first.
        let limit = DecodingOptions(maximumPixelCount: 116)
        let error = #expect(throws: ImageError.self) { try PixelBuffer(decoding: png, named: "x", options: limit) }
        #expect(error?.reason == .tooManyPixels(width: 13, height: 9, limit: 116))
        png.replaceSubrange(16..<24, with: [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF])
        #expect(throws: ImageError.self) { try PixelBuffer(decoding: png) }
        var jpeg = try Data(contentsOf: fixtures.appendingPathComponent("baseline.jpg"))
        let frame = try #require(jpeg.firstRange(of: Data([0xFF, 0xC0]))).lowerBound
        jpeg.replaceSubrange((frame + 5)..<(frame + 9), with: [0xFF, 0xDC, 0xFF, 0xDC])
        let refused = #expect(throws: ImageError.self) { try PixelBuffer(decoding: jpeg, named: "x") }
        #expect(refused?.reason == .tooManyPixels(width: 65_500, height: 65_500, limit: 1 << 28))
    }

    /// Texts that are expanded take 2.4 GB here.
    @Test func textChunksOfPNGFilesAreSkipped() throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent("color2-depth8.png"))
        let text = PNGFile.deflated(repeating: 0x41, count: 7_900_000)
        let compressed = PNGFile.chunk("zTXt", Data("a\0\0".utf8) + text)
        let international = PNGFile.chunk("iTXt", Data("a\0\u{1}\0\0\0".utf8) + text)
        var chunks = Data()
        for _ in 0..<150 { chunks += compressed + international }
        var before = rusage()
        var after = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &before)
        let image = try PixelBuffer(decoding: PNGFile.inserting(chunks, in: whole))
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &after)
        #expect(image.width == 13)
        #expect(after.ru_maxrss - before.ru_maxrss < 1_000_000, "kilobytes more at the peak")
    }

    @Test func textChunksOfPNGFilesMayHaveAnyLength() throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent("color2-depth8.png"))
        let text = PNGFile.chunk("tEXt", Data("a\0".utf8) + Data(repeating: 0x41, count: 9_000_000))
        let image = try PixelBuffer(decoding: PNGFile.inserting(text, in: whole))
        let plain = try PixelBuffer(decoding: whole)
        #expect(image.withUnsafeBytes { Array($0) } == plain.withUnsafeBytes { Array($0) })
    }

    @Test func largeJPEGFilesAreDecodedAtAReducedScale() throws {
        let large = SampleImage.blocks(seed: 8, width: 1000, height: 800)
        let data = try large.jpegData(quality: 95)
        for (needed, width, height) in [(160, 500, 400), (50, 125, 100), (400, 1000, 800), (600, 1000, 800)] {
            let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (needed, needed)))
            #expect((image.width, image.height) == (width, height), "needed \(needed)")
        }
    }

    @Test func whatIsEncodedComesBack() throws {
        let image = SampleImage.blocks(seed: 3)
        let again = try PixelBuffer(decoding: image.pngData())
        #expect(again.withUnsafeBytes { Array($0) } == image.withUnsafeBytes { Array($0) })
        let transparent = try PixelBuffer([1, 2, 3, 4], width: 1, height: 1, format: .rgba8)
        #expect(throws: ImageError.self) { try transparent.pngData() }
    }
}
