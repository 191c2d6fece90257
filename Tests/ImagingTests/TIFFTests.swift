#if TIFF
    import Foundation
    import Imaging
    import Testing

    /// Kinds of TIFF files that libtiff reads as others than they are.
    struct TIFFTests {
        /// A pixel of one color and an extra sample.
        struct Pixel: Sendable {
            let samples: [UInt16]
            var bits: UInt16 = 8
            /// 0: white is zero; 1: black is zero; 3: a palette.
            var photometric: UInt16 = 1
            /// 0: unspecified; 1: associated alpha; 2: unassociated alpha.
            var kind: UInt16 = 2

            var file: Data {
                let bytes = samples.flatMap { bits == 8 ? [UInt8($0)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
                var tags: [UInt16: [UInt16]] = [
                    258: samples.map { _ in bits }, 262: [photometric], 277: [UInt16(samples.count)],
                    338: [kind] + samples.dropFirst(2).map { _ in 0 },
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

        /// With an end of image amid the data of its scan.
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

        @Test(arguments: [
            Pixel(samples: [0, 128], photometric: 3), Pixel(samples: [0, 128], photometric: 3, kind: 1),
            Pixel(samples: [0, 128, 0]), Pixel(samples: [0, 128, 0], bits: 16),
        ])
        func alphaThatWouldBeLostIsRefused(pixel: Pixel) {
            let kind = "a TIFF that libtiff does not convert (its alpha channel would be lost)"
            #expect(FormatTests.reason(pixel.file) == .unsupported(kind))
        }

        /// As it is in a JPEG file.
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
    }
#endif
