import Foundation
import Imaging
import TestSupport
import Testing

/// Files of the optional formats, and files with color profiles, against Pillow, pillow-heif and lcms2.
struct FormatTests {
    struct Expected: Decodable, Sendable {
        let width: Int
        let height: Int
        /// The tolerance of a byte, without a profile.
        let tolerance: Int?
        /// The tolerance of a color, with a profile.
        let deltaE: Double?
        let rgb: Data
    }

    static let folder = Bundle.module.resourceURL!.appendingPathComponent("Fixtures/Formats")
    static let expected: [String: Expected] = {
        let data = try! Data(contentsOf: folder.appendingPathComponent("expected.json"))
        return try! JSONDecoder().decode([String: Expected].self, from: data)
    }()

    /// The library and the trait that a build without them names; nil for what this build reads.
    static func missing(_ name: String) -> ImageError.Reason? {
        let kind = (name as NSString).pathExtension
        #if !LK_WEBP
        if kind == "webp" { return .decoderMissing(format: "a WebP", library: "libwebp", trait: "WebP") }
        #endif
        #if !LK_HEIF
        if kind == "heic" { return .decoderMissing(format: "a HEIC", library: "libheif", trait: "HEIF") }
        if kind == "avif" { return .decoderMissing(format: "an AVIF", library: "libheif", trait: "HEIF") }
        #endif
        #if !LK_GIF
        if kind == "gif" { return .decoderMissing(format: "a GIF", library: "giflib", trait: "GIF") }
        #endif
        #if !LK_TIFF
        if kind == "tiff" { return .decoderMissing(format: "a TIFF", library: "libtiff", trait: "TIFF") }
        #endif
        return nil
    }

    static func readable(_ names: [String]) -> [String] { names.filter { missing($0) == nil } }

    static func data(_ name: String) throws -> Data { try Data(contentsOf: folder.appendingPathComponent(name)) }

    static func reason(_ data: Data, _ options: DecodingOptions = DecodingOptions()) -> ImageError.Reason? {
        do { _ = try PixelBuffer(decoding: data, options: options) } catch { return error.reason }
        return nil
    }

    static func colors(_ image: PixelBuffer) -> [[UInt8]] {
        let offsets = image.format.redGreenBlueOffsets
        return image.withUnsafeBytes { bytes in
            (0..<image.width * image.height).map { index in
                let at =
                    index / image.width * image.bytesPerRow + index % image.width * image.format.bytesPerPixel
                return [bytes[at + offsets.red], bytes[at + offsets.green], bytes[at + offsets.blue]]
            }
        }
    }

    static func colors(_ bytes: Data) -> [[UInt8]] {
        let bytes = [UInt8](bytes)
        return stride(from: 0, to: bytes.count, by: 3).map { Array(bytes[$0..<($0 + 3)]) }
    }

    static func largestStep(_ a: [[UInt8]], _ b: [[UInt8]]) -> Int {
        zip(a.joined(), b.joined()).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    @Test(arguments: expected.keys.sorted()) func showsWhatReferenceDecodersShow(name: String) throws {
        let expected = try #require(Self.expected[name])
        let data = try Self.data(name)
        if let missing = Self.missing(name) {
            #expect(Self.reason(data) == missing)
            return
        }
        let image = try PixelBuffer(decoding: data)
        #expect((image.width, image.height) == (expected.width, expected.height))
        let (colors, reference) = (Self.colors(image), Self.colors(expected.rgb))
        try #require(colors.count == reference.count)
        #if !LK_COLOR_MANAGEMENT
        // Profiles with tables.
        if ["table.jpg", "cmyk.jpg", "cmyk.tiff"].contains(name) {
            #expect(image.decodingNotes.count == 1)
            return
        }
        #endif
        if let tolerance = expected.tolerance { #expect(Self.largestStep(colors, reference) <= tolerance) }
        if let deltaE = expected.deltaE {
            let worst = zip(colors, reference).map { ColorDifference.deltaE($0, $1) }.max() ?? 0
            #expect(worst < deltaE)
            #expect(image.decodingNotes.isEmpty)
        }
    }

    /// Three pairs of the table in the paper, where the formula's branches differ.
    @Test func colorDifferencesAreThoseOfThePaper() {
        let pairs: [([Double], [Double], Double)] = [
            ([50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425), ([50, -1, 2], [50, 0, 0], 2.3669),
            ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
        ]
        for (a, b, difference) in pairs { #expect(abs(ColorDifference.deltaE(a, b) - difference) < 1e-4) }
    }

    @Test(
        arguments: readable([
            "lossy.webp", "lossless.webp", "animated.webp", "alpha.heic", "orientation6.heic", "display-p3.heic",
            "alpha.avif", "interlaced.gif", "frame-on-canvas.gif", "tiff_lzw.tiff", "16-bits.tiff", "jpeg.tiff",
        ]))
    func truncationIsAnErrorThatNamesTheFile(name: String) throws {
        let whole = try Self.data(name)
        // After the last pixels a GIF file has three more bytes: what ends the data, the blocks and the file.
        let count = name.hasSuffix(".gif") ? whole.count - 3 : whole.count
        for count in stride(from: 0, to: count, by: whole.count > 500 ? 23 : 1) {
            let error = #expect(throws: ImageError.self, "\(count) of \(whole.count) bytes") {
                try PixelBuffer(decoding: whole.prefix(count), named: name)
            }
            #expect(error?.description.hasPrefix("\(name): ") == true)
            #expect(error?.description.contains("\n") == false)
        }
    }

    @Test(
        arguments: readable([
            "lossy.webp", "alpha.webp", "frame-on-canvas.webp", "subsampled.heic", "orientation7.heic", "alpha.avif",
            "transparent.gif", "frame-on-canvas.gif", "tiff_lzw.tiff", "jpeg.tiff", "cmyk.tiff", "table.jpg",
            "display-p3.jpg", "display-p3.png", "chromaticities.png",
        ]))
    func damageNeverCrashes(name: String) throws {
        let whole = try Self.data(name)
        var random = SeededGenerator(seed: 43)
        var failures = 0
        for _ in 0..<100 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[bytes.startIndex + Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            let options = DecodingOptions(maximumPixelCount: 1 << 20, maximumMemory: 64 << 20)
            do { _ = try PixelBuffer(decoding: bytes, options: options) } catch { failures += 1 }
        }
        #expect(failures > 5, "seed 43: damage goes unnoticed")
    }

    @Test func profilesThatCannotBeUsedAreIgnoredWithANote() throws {
        for (name, words) in [
            ("broken-profile.jpg", "no usable gTRC"), ("missing-part.jpg", "part 1 of 2 is missing"),
            ("wrong-profile.jpg", "for cmyk, and the image is rgb"), ("broken-profile.png", "damaged"),
        ] {
            let image = try PixelBuffer(decoding: Self.data(name), named: name)
            try #require(image.decodingNotes.count == 1, "\(name)")
            #expect(image.decodingNotes[0].hasPrefix("its color profile is ignored: "))
            #expect(image.decodingNotes[0].contains(words), "\(image.decodingNotes)")
        }
        #expect(try PixelBuffer(decoding: Self.data("srgb.jpg")).decodingNotes.isEmpty)
    }

    /// A flat curve would make one color of all.
    @Test func profilesWithFlatCurvesAreIgnoredWithANote() throws {
        var gray = try Self.data("gray-gamma.jpg")
        let single = Data("curv\0\0\0\0\0\0\0\u{1}".utf8)
        let exponent = try #require(gray.firstRange(of: single)).upperBound
        gray.replaceSubrange(exponent..<(exponent + 2), with: [0, 0])
        let note = "its color profile is ignored: its"
        #expect(try PixelBuffer(decoding: gray).decodingNotes == ["\(note) kTRC hardly rises"])

        let whole = try Self.data("display-p3.jpg")
        let plain = try PixelBuffer(decoding: Self.data("missing-part.jpg"))
        let curve = try #require(whole.firstRange(of: Data("para".utf8))).lowerBound
        // The exponent, and the factor.
        for at in [curve + 12, curve + 16] {
            var bytes = whole
            bytes.replaceSubrange(at..<(at + 4), with: [0, 0, 0, 0])
            let image = try PixelBuffer(decoding: bytes)
            #expect(image.decodingNotes == ["\(note) rTRC hardly rises"])
            #expect(Self.colors(image) == Self.colors(plain))
        }
    }

    @Test func gammasAndPrimariesThatCannotBeUsedAreIgnoredWithANote() throws {
        let plain = SampleImage.blocks(seed: 5)
        let file = try plain.pngData()
        func image(_ gamma: UInt32, _ primaries: [UInt32] = []) throws -> PixelBuffer {
            var chunks = PNGFile.chunk("gAMA", PNGFile.bigEndian(gamma))
            if !primaries.isEmpty {
                chunks += PNGFile.chunk("cHRM", primaries.reduce(Data()) { $0 + PNGFile.bigEndian($1) })
            }
            return try PixelBuffer(decoding: PNGFile.inserting(chunks, in: file))
        }
        for (gamma, words) in [
            (0, "0 is not in 16...625000000"), (15, "15 is not in 16...625000000"),
            (600_000_000, "its curve hardly rises"), (4_000_000_000, "4000000000 is not in 16...625000000"),
        ] as [(UInt32, String)] {
            let found = try image(gamma)
            #expect(found.decodingNotes == ["its gamma is ignored: \(words)"])
            #expect(Self.colors(found) == Self.colors(plain))
        }
        // A point, and a white that is the red.
        for primaries: [UInt32] in [
            Array(repeating: 33_000, count: 8), [64_000, 33_000, 64_000, 33_000, 30_000, 60_000, 15_000, 6000],
        ] {
            let found = try image(55_556, primaries)
            #expect(found.decodingNotes == ["its gamma is ignored: its primaries do not span a plane"])
            #expect(Self.colors(found) == Self.colors(plain))
        }
        #expect(try image(55_556).decodingNotes.isEmpty)
    }

    /// Numbers that are as large as a profile can have them, and one that is not a number in the end.
    @Test func extremeProfilesNeverCrash() throws {
        let whole = try Self.data("display-p3.jpg")
        let curve = try #require(whole.firstRange(of: Data("para".utf8))).lowerBound
        // The search begins behind the header, which names the connection space.
        let body = try #require(whole.firstRange(of: Data("acsp".utf8))).upperBound
        let primary = try #require(whole[body...].firstRange(of: Data("XYZ \0\0\0\0".utf8))).lowerBound
        for value: [UInt8] in [[0x7F, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]] {
            for at in (0..<6).map({ curve + 12 + 4 * $0 }) + (0..<3).map({ primary + 8 + 4 * $0 }) {
                var bytes = whole
                bytes.replaceSubrange(at..<(at + 4), with: value)
                #expect(try PixelBuffer(decoding: bytes).width == 24)
            }
        }
    }

    /// A file with a profile of sRGB is not converted: it has the bytes of one without.
    @Test func profilesOfSRGBLeavePixelsAlone() throws {
        let tagged = try PixelBuffer(decoding: Self.data("srgb.jpg"))
        let plain = try PixelBuffer(decoding: Self.data("missing-part.jpg"))
        #expect(Self.colors(tagged) == Self.colors(plain))
    }

    @Test(
        arguments: readable([
            "lossless.webp", "frame-on-canvas.webp", "full-chroma.heic", "full-chroma.avif", "palette.gif", "raw.tiff",
        ]))
    func limitsAreCheckedBeforePixelsAreAllocated(name: String) throws {
        let data = try Self.data(name)
        let expected = try #require(Self.expected[name])
        let (width, height) = (expected.width, expected.height)
        let count = width * height
        if name != "frame-on-canvas.webp" {
            #expect(
                Self.reason(data, DecodingOptions(maximumPixelCount: count - 1))
                    == .tooManyPixels(width: width, height: height, limit: count - 1))
        }
        guard case .tooMuchMemory(let bytes, limit: 1000) = Self.reason(data, DecodingOptions(maximumMemory: 1000))
        else {
            Issue.record("\(String(describing: Self.reason(data, DecodingOptions(maximumMemory: 1000))))")
            return
        }
        #expect(bytes >= 3 * count)
        #expect(Self.reason(data, DecodingOptions(maximumMemory: bytes)) == nil)
    }

    #if LK_GIF
    /// A canvas of 65,535 × 65,535 pixels in a hundred bytes.
    @Test func hugeCanvasesOfGIFFilesAreRefused() throws {
        var data = try Self.data("frame-on-canvas.gif")
        data.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(Self.reason(data) == .tooManyPixels(width: 65_535, height: 65_535, limit: 1 << 28))
    }
    #endif

    #if LK_WEBP
    @Test func largeWebPFilesAreDecodedAtAReducedScale() throws {
        let data = try Self.data("large.webp")
        let whole = try PixelBuffer(decoding: data)
        #expect((whole.width, whole.height) == (384, 256))
        for (needed, width, height) in [(80, 192, 128), (40, 96, 64), (100, 384, 256)] {
            let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (needed, needed)))
            #expect((image.width, image.height) == (width, height), "needed \(needed)")
            #expect(image.sourceSize == (384, 256))
            let small = Resizer(width: 24, height: 16)
            let step = zip(small.resize(image), small.resize(whole)).map { abs($0 - $1) }.max() ?? 1
            #expect(step < 4.0 / 255)
        }
    }

    @Test func reducedScalesOfWebPFilesAreThoseOfTheUprightImage() throws {
        let exif = TIFFFile.exif(orientation: 6)
        var data = try Self.data("large.webp") + Data("EXIF".utf8) + Data([UInt8(exif.count), 0, 0, 0]) + exif
        let size = data.count - 8
        data.replaceSubrange(4..<6, with: [UInt8(size & 0xFF), UInt8(size >> 8)])
        for (across, down, width, height) in [(100, 40, 256, 384), (40, 100, 128, 192)] {
            let options = DecodingOptions(neededSize: (across, down))
            let image = try PixelBuffer(decoding: data, options: options)
            #expect((image.width, image.height) == (width, height), "needed \(across) × \(down)")
            #expect(image.sourceSize == (256, 384))
        }
    }
    #endif

    #if LK_HEIF
    @Test func thumbnailsOfHEIFFilesAreReadWhereTheyAreLargeEnough() throws {
        let data = try Self.data("thumbnail.heic")
        for (needed, width, height) in [(20, 128, 64), (42, 128, 64), (43, 256, 128), (100, 256, 128)] {
            let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (needed, needed)))
            #expect((image.width, image.height) == (width, height), "needed \(needed)")
            #expect(image.sourceSize == (256, 128))
        }
        #expect(try PixelBuffer(decoding: data).width == 256)
    }

    /// Thumbnails as some cameras write them.
    @Test func thumbnailsOfAnotherSizeThanTheirHeaderSaysAreNotRead() throws {
        var data = try Self.data("thumbnail.heic")
        let size = try #require(data.firstRange(of: Data([0, 0, 0, 128, 0, 0, 0, 64])))
        data.replaceSubrange(size, with: [0, 0, 0, 130, 0, 0, 0, 65])
        let image = try PixelBuffer(decoding: data, options: DecodingOptions(neededSize: (20, 20)))
        #expect((image.width, image.height) == (256, 128))
        #expect(image.sourceSize == (256, 128))
    }
    #endif

    /// Libpng would say that such a file is damaged.
    @Test func aPNGFileOfAnAppIsNamed() {
        let data = Data([0x89] + Array("PNG\r\n\u{1A}\n".utf8) + [0, 0, 0, 4] + Array("CgBI".utf8)) + Data(count: 64)
        #expect(Self.reason(data) == .unsupported("a PNG file of an iOS app (CgBI)"))
    }

    #if LK_TIFF
    /// Of 259: JPEG 2000 as digital cinema and scanners have it, and a number that nobody uses.
    @Test(arguments: [34712, 33003, 33005, 60001] as [UInt16])
    func compressionsThatNobodyReadsAreNamed(number: UInt16) {
        let tags: [UInt16: [UInt16]] = [258: [8], 259: [number], 262: [1], 277: [1]]
        let file = TIFFFile.file(width: 8, height: 8, tags: tags, pixels: Data(count: 64))
        guard case .unsupported(let words) = Self.reason(file) else {
            Issue.record("\(number): \(String(describing: Self.reason(file)))")
            return
        }
        #expect(words.contains(number == 60001 ? "its compression 60001 is not known" : "JPEG 2000"), "\(words)")
    }

    @Test func samplesThatAreNoBytesAreRefused() throws {
        guard case .unsupported(let words) = Self.reason(try Self.data("float.tiff")) else {
            Issue.record("\(String(describing: Self.reason(try Self.data("float.tiff"))))")
            return
        }
        #expect(words.hasPrefix("a TIFF that libtiff does not convert"))
    }
    #endif
}
