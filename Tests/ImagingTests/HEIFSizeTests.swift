#if HEIF
    import Foundation
    import Imaging
    import Testing

    /// Files whose coded image is larger than their header says.
    struct HEIFSizeTests {
        private static let folder = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

        /// A kilobyte holds any number of pixels of one color, and decoders allocate what their bitstream asks for.
        @Test(arguments: ["larger-than-its-header.heic", "larger-than-its-header.avif"])
        func aLargerImageIsRefusedBeforeItIsDecoded(name: String) throws {
            let file = try Data(contentsOf: Self.folder.appendingPathComponent(name))
            #expect(FormatTests.reason(file) == .damaged("its image is larger than its header says"))
            // The reduced size comes from the same image.
            let reduced = DecodingOptions(neededSize: (16, 16))
            #expect(FormatTests.reason(file, reduced) == .damaged("its image is larger than its header says"))
        }

        /// Limits are those of each call, while files are decoded on many threads.
        @Test func filesDecodedAtTheSameTimeKeepTheirLimits() async throws {
            let large = try Data(contentsOf: Self.folder.appendingPathComponent("larger-than-its-header.heic"))
            let tiled = try FormatTests.data("grid.heic")
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { #expect(FormatTests.reason(large) != nil) }
                    group.addTask { #expect(FormatTests.reason(tiled) == nil) }
                }
            }
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
