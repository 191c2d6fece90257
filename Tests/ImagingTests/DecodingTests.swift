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
    func everyTruncationOfPixelsIsAnErrorThatNamesTheFile(name: String) throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent(name))
        for count in 0...(whole.count - Self.endLength(name) - 1) {
            let error = #expect(throws: ImageError.self, "\(count) of \(whole.count) bytes") {
                try PixelBuffer(decoding: whole.prefix(count), named: name)
            }
            #expect(error?.description.hasPrefix("\(name): ") == true)
        }
    }

    /// The bytes behind all pixels: JPEG's end marker, or PNG's last chunk.
    private static func endLength(_ name: String) -> Int { name.hasSuffix(".png") ? 12 : 2 }

    @Test(arguments: [
        "color6-depth16-interlaced.png", "color3-depth4.png", "baseline.jpg", "progressive.jpg", "cmyk.jpg",
        "subsampled.jpg",
    ])
    func whatLacksItsEndAloneIsReadWithANote(name: String) throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent(name))
        let expected = try PixelBuffer(decoding: whole)
        for missing in 1...Self.endLength(name) {
            let image = try PixelBuffer(decoding: whole.dropLast(missing))
            #expect(image.decodingNotes.count == 1 && image.decodingNotes[0].contains("is missing"), "\(missing)")
            #expect(image.withUnsafeBytes { Array($0) } == expected.withUnsafeBytes { Array($0) })
        }
        #expect(expected.decodingNotes.isEmpty)
    }

    /// A file that ends between two scans shows all of the image, in few details.
    @Test func progressiveFilesThatEndBetweenScansAreDamaged() throws {
        let whole = try Data(contentsOf: fixtures.appendingPathComponent("progressive.jpg"))
        let scans = whole.indices.dropLast().filter { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA }
        try #require(scans.count > 3)
        for scan in scans.dropFirst() {
            #expect(Self.reason(whole[..<scan]) == .damaged("the file ends early"))
        }
    }

    /// The precision of a frame, or the marker of another process, in a file that is sound otherwise.
    @Test(
        arguments: [
            (4, 12, "12 bits per sample"), (4, 16, "16 bits per sample"), (1, 0xC3, "lossless"),
            (1, 0xC7, "hierarchical"),
            (1, 0xCB, "lossless"), (1, 0xF7, "JPEG-LS"),
        ] as [(Int, UInt8, String)])
    func kindsOfJPEGThatAreNotReadAreNotDamaged(at offset: Int, value: UInt8, words: String) throws {
        var jpeg = try Data(contentsOf: fixtures.appendingPathComponent("baseline.jpg"))
        let frame = try #require(jpeg.firstRange(of: Data([0xFF, 0xC0]))).lowerBound
        jpeg[frame + offset] = value
        guard case .unsupported(let kind)? = Self.reason(jpeg) else {
            Issue.record("\(String(describing: Self.reason(jpeg)))")
            return
        }
        #expect(kind.contains(words))
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
        #expect(reason(try folder.write("BM.....", to: "really-a-bmp.png")) == .unsupported("a BMP"))
        #expect(reason(try folder.write("%PDF-1.7", to: "really-a-pdf.jpg")) == .unsupported("a PDF"))
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

    @Test func aLimitAboveTheDefaultNumberOfPixelsRaisesTheByteLimits() {
        let defaults = DecodingOptions()
        let more = DecodingOptions(maximumMegapixels: 600)
        #expect(more.maximumPixelCount == 600_000_000)
        #expect(more.maximumMemory == 7_200_000_000 && more.maximumByteCount == 4_800_000_000)
        #expect(more.maximumSide == defaults.maximumSide && more.maximumScanCount == defaults.maximumScanCount)
        for (megapixels, count) in [(0.01, 10_000), (2.01, 2_010_000), (100, 100_000_000), (268, 268_000_000)] {
            let fewer = DecodingOptions(maximumMegapixels: megapixels)
            #expect(fewer.maximumPixelCount == count)
            #expect(
                fewer.maximumMemory == defaults.maximumMemory && fewer.maximumByteCount == defaults.maximumByteCount)
        }
    }

    private static func reason(_ data: Data, _ options: DecodingOptions = DecodingOptions()) -> ImageError.Reason? {
        do { _ = try PixelBuffer(decoding: data, options: options) } catch { return error.reason }
        return nil
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

    /// None of these files has more than a header: they are refused before their pixels are looked for.
    @Test func limitsOnSidesAndMemoryAreCheckedBeforePixelsAreAllocated() throws {
        let long = PNGFile.header(width: 1, height: 200_000_000, colorType: 0)
        #expect(Self.reason(long) == .sideTooLong(width: 1, height: 200_000_000, limit: 65_535))
        let square = PNGFile.header(width: 16_384, height: 16_384, colorType: 6)
        #expect(Self.reason(square) == .tooMuchMemory(bytes: 1 << 30, limit: 768 << 20))
        #expect(
            Self.reason(square, DecodingOptions(maximumMemory: 1 << 30)).map { "\($0)" }?.hasPrefix("is damaged")
                == true)
        let small = PNGFile.header(width: 100, height: 10, colorType: 2)
        #expect(
            Self.reason(small, DecodingOptions(maximumSide: 99)) == .sideTooLong(width: 100, height: 10, limit: 99))
        #expect(
            Self.reason(small, DecodingOptions(maximumMemory: 2999)) == .tooMuchMemory(bytes: 3000, limit: 2999))

        // Two bytes per coefficient and one per pixel, in blocks of 8×8 and a margin.
        let progressive = ProgressiveJPEG.file(width: 16_376, height: 16_376, components: 3, scans: 1)
        guard case .tooMuchMemory(let bytes, limit: 805_306_368) = Self.reason(progressive) else {
            Issue.record("\(String(describing: Self.reason(progressive)))"); return
        }
        #expect(abs(Double(bytes) / (16_376 * 16_376 * 9) - 1) < 0.01)
        // A reduced scale saves pixels, not coefficients.
        let reduced = DecodingOptions(neededSize: (100, 100))
        guard case .tooMuchMemory = Self.reason(progressive, reduced) else {
            Issue.record("\(String(describing: Self.reason(progressive, reduced)))"); return
        }
    }

    @Test func turnedImagesNeedTwiceTheMemory() throws {
        let data = try Data(contentsOf: fixtures.appendingPathComponent("orientation6.jpg"))
        let image = try PixelBuffer(decoding: data)
        let bytes = 2 * 3 * image.width * image.height
        #expect(Self.reason(data, DecodingOptions(maximumMemory: bytes)) == nil)
        #expect(
            Self.reason(data, DecodingOptions(maximumMemory: bytes - 1))
                == .tooMuchMemory(bytes: bytes, limit: bytes - 1))
    }

    @Test func scansOfJPEGFilesAreLimited() throws {
        func file(_ scans: Int) -> Data { ProgressiveJPEG.file(width: 8, height: 8, components: 1, scans: scans) }
        #expect(try PixelBuffer(decoding: file(64)).width == 8)
        #expect(Self.reason(file(65)) == .tooManyScans(count: 65, limit: 64))
        #expect(Self.reason(file(300)) == .tooManyScans(count: 300, limit: 64))
        #expect(Self.reason(file(300), DecodingOptions(maximumScanCount: 300)) == nil)
        #expect(Self.reason(file(3), DecodingOptions(maximumScanCount: 2)) == .tooManyScans(count: 3, limit: 2))
        let photo = try Data(contentsOf: fixtures.appendingPathComponent("progressive.jpg"))
        #expect(Self.reason(photo) == nil)
        // A single baseline scan is no limit's concern.
        let baseline = try Data(contentsOf: fixtures.appendingPathComponent("baseline.jpg"))
        #expect(Self.reason(baseline, DecodingOptions(maximumScanCount: 1)) == nil)
    }

    @Test func largeJPEGFilesAreDecodedAtAReducedScale() throws {
        let large = SampleImage.blocks(seed: 8, width: 1000, height: 800)
        let data = try large.jpegData(quality: 95)
        for (needed, width, height) in [(160, 500, 400), (50, 125, 100), (400, 1000, 800), (600, 1000, 800)] {
            let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (needed, needed)))
            #expect((image.width, image.height) == (width, height), "needed \(needed)")
        }
    }

    @Test func reducedScalesAreThoseOfTheUprightImage() throws {
        let wide = try SampleImage.blocks(seed: 8, width: 1000, height: 300).jpegData(quality: 95)
        let exif = Data("Exif\0\0".utf8) + TIFFFile.exif(orientation: 6)
        let segment = Data([0xFF, 0xE1, 0, UInt8(exif.count + 2)]) + exif
        let tall = wide.prefix(2) + segment + wide.dropFirst(2)
        for (across, down, width, height) in [(160, 40, 300, 1000), (40, 160, 75, 250)] {
            let options = DecodingOptions(neededSize: (across, down))
            let image = try PixelBuffer(decoding: tall, options: options)
            #expect((image.width, image.height) == (width, height), "needed \(across) × \(down)")
            #expect(image.sourceSize == (300, 1000))
        }
    }

    @Test func aThumbnailNeedsItsLongSideAlone() throws {
        let wide = try SampleImage.blocks(seed: 8, width: 1000, height: 300).jpegData(quality: 95)
        func size(_ options: DecodingOptions) throws -> [Int] {
            let image = try PixelBuffer(decoding: wide, options: options)
            return [image.width, image.height]
        }
        #expect(try size(DecodingOptions(neededLongSide: 160)) == [250, 75])
        #expect(try size(DecodingOptions(neededLongSide: 167)) == [500, 150])
        #expect(try size(DecodingOptions(neededSize: (40, 90), neededLongSide: 40)) == [500, 150])
        #expect(try size(DecodingOptions(neededSize: (40, 20), neededLongSide: 400)) == [1000, 300])
        #expect(try size(DecodingOptions(neededLongSide: .max)) == [1000, 300])
        #expect(try size(DecodingOptions(neededSize: (.max, 1))) == [1000, 300])
    }

    @Test func aLargeImageKeepsMorePixels() throws {
        let wide = try SampleImage.blocks(seed: 8, width: 1000, height: 300).jpegData(quality: 95)
        for (above, kept, width) in [(999, 500, 500), (999, 501, 1000), (999, 250, 250), (1000, 500, 125)] {
            let image = try PixelBuffer(
                decoding: wide, options: DecodingOptions(neededSize: (20, 20), largeImages: (above, kept)))
            #expect(image.width == width, "above \(above), \(kept) kept")
        }
    }

    @Test func aPartOfAReducedImageKnowsItsSourceSize() throws {
        let data = try SampleImage.blocks(seed: 8, width: 1000, height: 800).jpegData()
        let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (100, 100)))
        let part = try image.cropped(to: PixelRegion(x: 10, y: 20, width: 60, height: 50))
        #expect(image.width == 250 && part.sourceSize == (240, 200))
    }

    @Test func whatIsEncodedComesBack() throws {
        let image = SampleImage.blocks(seed: 3)
        let again = try PixelBuffer(decoding: image.pngData())
        #expect(again.withUnsafeBytes { Array($0) } == image.withUnsafeBytes { Array($0) })
        let transparent = try PixelBuffer([1, 2, 3, 4], width: 1, height: 1, format: .rgba8)
        #expect(throws: ImageError.self) { try transparent.pngData() }
    }
}
