#if LK_TIFF
import Foundation
import Imaging
import Testing

/// Kinds of TIFF files that libtiff reads as others than they are.
struct TIFFTests {
    /// A pixel with extra samples.
    struct Pixel: Sendable {
        let samples: [UInt16]
        var bits: UInt16 = 8
        /// 0: white is zero; 1: black is zero; 2: RGB; 3: a palette; 5: four inks.
        var photometric: UInt16 = 1
        /// 0: unspecified; 1: associated alpha; 2: unassociated alpha.
        var kind: UInt16 = 2

        var file: Data {
            let bytes = samples.flatMap { bits == 8 ? [UInt8($0)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            let colorCount = photometric == 2 ? 3 : photometric == 5 ? 4 : 1
            var tags: [UInt16: [UInt16]] = [
                258: samples.map { _ in bits }, 262: [photometric], 277: [UInt16(samples.count)],
                338: [kind] + samples.dropFirst(colorCount + 1).map { _ in 0 },
            ]
            if photometric == 3 { tags[320] = Array(repeating: 0, count: 3 * 256) }
            return TIFFFile.file(width: 1, height: 1, tags: tags, pixels: Data(bytes))
        }
    }

    /// A baseline JPEG file of four inks, which is a whole strip as well.
    private static func inks() throws -> Data {
        let folder = FormatTests.folder.deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent("cmyk.jpg"))
    }

    private static func file(ofInks jpeg: Data) -> Data {
        let tags: [UInt16: [UInt16]] = [258: [8, 8, 8, 8], 259: [7], 262: [5], 277: [4]]
        return TIFFFile.file(width: 43, height: 29, tags: tags, pixels: jpeg)
    }

    /// The file with an end of image amid the data of its scan.
    private static func damaged(_ file: Data) throws -> Data {
        var file = file
        let middle = try #require(file.firstRange(of: Data([0xFF, 0xDA]))).lowerBound + 60
        file.replaceSubrange(middle..<(middle + 2), with: [0xFF, 0xD9])
        return file
    }

    @Test(
        arguments: [
            (Pixel(samples: [128, 128]), 191), (Pixel(samples: [127, 128], photometric: 0), 191),
            (Pixel(samples: [0, 0]), 255), (Pixel(samples: [77, 255]), 77),
            (Pixel(samples: [64, 128], kind: 1), 191), (Pixel(samples: [64, 128], kind: 0), 64),
            (Pixel(samples: [0x8080, 0x8080], bits: 16), 191),
            (Pixel(samples: [0x7F7F, 0x8080], bits: 16, photometric: 0), 191),
            (Pixel(samples: [0, 0], bits: 16), 255), (Pixel(samples: [0x4D4D, 0xFFFF], bits: 16), 77),
            (Pixel(samples: [0x4040, 0x8080], bits: 16, kind: 1), 191),
            (Pixel(samples: [0x4040, 0x8080], bits: 16, kind: 0), 64),
        ] as [(Pixel, UInt8)])
    func grayWithAlphaIsCompositedOverWhite(pixel: Pixel, gray: UInt8) throws {
        let image = try PixelBuffer(decoding: pixel.file)
        #expect(FormatTests.colors(image) == [[gray, gray, gray]])
    }

    /// Data that is not alpha, such as a saved selection.
    @Test func colorsWithUnspecifiedSamplesAreOpaque() throws {
        let pixel = Pixel(samples: [10, 20, 30, 0], photometric: 2, kind: 0)
        #expect(FormatTests.colors(try PixelBuffer(decoding: pixel.file)) == [[10, 20, 30]])
    }

    /// L*a*b* of colors of sRGB, by LittleCMS.
    @Test(
        arguments: [
            ([255, 0, 0], [255, 255, 255]), ([137, 0, 0], [128, 128, 128]), ([0, 0, 0], [0, 0, 0]),
            ([112, 64, 47], [200, 30, 30]), ([180, 192, 64], [30, 200, 30]), ([66, 49, 169], [30, 30, 200]),
            ([239, 247, 67], [250, 240, 100]),
        ] as [([UInt8], [Int])])
    func colorsOfLab(samples: [UInt8], color: [Int]) throws {
        for isDeep in [false, true] {
            let bytes = !isDeep ? samples : [samples[0], samples[0], 0, samples[1], 0, samples[2]]
            let bits: UInt16 = isDeep ? 16 : 8
            let tags: [UInt16: [UInt16]] = [258: [bits, bits, bits], 262: [8], 277: [3]]
            let pixels = Data([bytes, bytes, bytes, bytes].joined())
            for file in [
                TIFFFile.file(width: 2, height: 2, tags: tags, pixels: pixels),
                TIFFFile.file(width: 2, height: 2, tags: tags, tiles: [tile(of: bytes)], side: 16),
            ] {
                for found in FormatTests.colors(try PixelBuffer(decoding: file)) {
                    #expect(zip(found, color).allSatisfy { abs(Int($0) - $1) <= 3 }, "\(found) for \(color)")
                }
            }
        }
    }

    private func tile(of pixel: [UInt8]) -> Data { Data((0..<256).flatMap { _ in pixel }) }

    /// libtiff shears them, and takes its own padding of tiles that are no multiples of 1,024 bytes for damage.
    @Test(arguments: [[UInt16(8)], [16], [8, 8], [16, 16]])
    func tilesThatAreCutOff(bits: [UInt16]) throws {
        let (width, height, side) = (20, 18, 16)
        let tiles = (0..<4).map { tile in
            let samples = (0..<(side * side)).flatMap { index in
                let (x, y) = (tile % 2 * side + index % side, tile / 2 * side + index / side)
                return bits.flatMap { bits in
                    let gray = UInt8(truncatingIfNeeded: 3 * x + 7 * y)
                    return bits == 8 ? [gray] : [gray, gray]
                }
            }
            return Data(samples)
        }
        let extra: [UInt16: [UInt16]] = bits.count > 1 ? [338: [0]] : [:]
        let tags = [258: bits, 262: [1], 277: [UInt16(bits.count)]].merging(extra) { $1 }
        let file = TIFFFile.file(
            width: UInt16(width), height: UInt16(height), tags: tags, tiles: tiles, side: UInt16(side))
        let expected = (0..<(width * height)).map { index in
            let gray = UInt8(truncatingIfNeeded: 3 * (index % width) + 7 * (index / width))
            return [gray, gray, gray]
        }
        #expect(FormatTests.colors(try PixelBuffer(decoding: file)) == expected)
    }

    @Test func samplesThatWouldBeMisreadAreRefused() {
        let signed = TIFFFile.file(
            width: 1, height: 1, tags: [258: [8], 262: [1], 277: [1], 339: [2]], pixels: Data([200]))
        #expect(
            FormatTests.reason(signed)
                == .unsupported("a TIFF that libtiff does not convert (its samples are signed)"))
        let inks = TIFFFile.file(
            width: 1, height: 1, tags: [258: [16, 16, 16, 16], 262: [5], 277: [4]], pixels: Data(count: 8))
        #expect(
            FormatTests.reason(inks) == .unsupported("a TIFF that libtiff does not convert (its inks have 16 bits)")
        )
    }

    @Test(arguments: [
        Pixel(samples: [0, 0, 0, 0, 128], photometric: 5),
        Pixel(samples: [0, 128], photometric: 3), Pixel(samples: [0, 128], photometric: 3, kind: 1),
        Pixel(samples: [0, 128, 0]), Pixel(samples: [0, 128, 0], bits: 16),
    ])
    func alphaThatWouldBeLostIsRefused(pixel: Pixel) {
        let kind = "a TIFF that libtiff does not convert (its alpha channel would be lost)"
        #expect(FormatTests.reason(pixel.file) == .unsupported(kind))
    }

    /// Damage is judged as in a JPEG file.
    @Test func damageToJPEGDataIsAnError() throws {
        let reason = ImageError.Reason.damaged("Corrupt JPEG data: premature end of data segment")
        #expect(FormatTests.reason(try Self.damaged(FormatTests.data("jpeg.tiff"))) == reason)
        #expect(FormatTests.reason(Self.file(ofInks: try Self.damaged(Self.inks()))) == reason)
    }

    @Test func strayBytesInJPEGDataAreNoDamage() throws {
        let jpeg = try Self.inks()
        let plain = try PixelBuffer(decoding: Self.file(ofInks: jpeg))
        let strayed = jpeg.prefix(2) + Data([0, 0]) + jpeg.dropFirst(2)
        let image = try PixelBuffer(decoding: Self.file(ofInks: strayed))
        #expect(FormatTests.colors(image) == FormatTests.colors(plain))
    }

    private static func page(_ side: UInt16, kind: UInt16? = nil, _ more: [UInt16: [UInt16]] = [:]) -> TIFFFile.Page {
        let tags: [UInt16: [UInt16]] = [258: [8], 262: [1], 277: [1]]
        return TIFFFile.Page(
            side: side, tags: tags.merging(kind.map { [254: [$0]] } ?? [:]) { $1 }.merging(more) { $1 },
            pixels: Data(repeating: UInt8(side), count: Int(side) * Int(side)))
    }

    /// A preview has kind 1, a page kind 2, a mask kind 4.
    @Test(
        arguments: [
            ([(4, 1), (16, 0)], [], 16), ([(16, 0), (4, 1)], [], 16), ([(16, nil), (32, nil)], [], 16),
            ([(4, 1), (8, 1), (32, nil), (16, 1)], [], 32), ([(4, 4), (16, 2)], [], 16),
            ([(4, 1)], [(2, 1), (16, 0)], 16),
            ([(16, 0)], [(8, 1), (4, 1)], 16), ([(4, 1), (32, 0)], [(16, 0)], 32),
        ] as [([(UInt16, UInt16?)], [(UInt16, UInt16?)], Int)])
    func theImageIsNotItsPreview(
        pages: [(UInt16, UInt16?)], parts: [(UInt16, UInt16?)], side: Int
    ) throws {
        let file = TIFFFile.file(
            pages: pages.map { Self.page($0.0, kind: $0.1) }, parts: parts.map { Self.page($0.0, kind: $0.1) })
        let image = try PixelBuffer(decoding: file)
        #expect((image.width, image.height) == (side, side))
        #expect(image.withUnsafeBytes { $0[0] } == UInt8(side))
        let pageCount = pages.filter { ($0.1 ?? 0) & 5 == 0 }.count
        #expect(image.decodingNotes == (pageCount > 1 ? ["it has several pages, and the first is read"] : []))
    }

    @Test func aPreviewWithoutItsImageIsReadWithANote() throws {
        let image = try PixelBuffer(decoding: TIFFFile.file(pages: [Self.page(4, kind: 1), Self.page(8, kind: 1)]))
        #expect(image.width == 4)
        #expect(image.decodingNotes == ["it has a preview alone, and no image that it is of"])
    }

    /// What a sensor saw, as a page or a part of one, and a file that says that it is a DNG.
    @Test func rawFilesAreRefusedNotShownByTheirPreviews() throws {
        let sensor = Self.page(16, kind: 0, [262: [32_803]]), linear = Self.page(16, kind: 0, [262: [34_892]])
        let preview = Self.page(4, kind: 1)
        for file in [
            TIFFFile.file(pages: [preview], parts: [Self.page(8, kind: 1), sensor]),
            TIFFFile.file(pages: [preview, sensor]), TIFFFile.file(pages: [Self.page(4), sensor]),
            TIFFFile.file(pages: [Self.page(4)], parts: [linear]),
            TIFFFile.file(pages: [Self.page(4, [50_706: [1, 4, 0, 0]])]), TIFFFile.file(pages: [sensor]),
        ] {
            guard case .unsupported(let kind)? = FormatTests.reason(file) else {
                Issue.record("\(String(describing: FormatTests.reason(file)))")
                continue
            }
            #expect(kind.contains("raw data of a camera"))
        }
    }
}
#endif
