import Foundation
import Lookalike
import Testing
import TextRecognition

struct TextReaderTests {
    private static func fixture(_ name: String) throws -> PixelBuffer {
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures")
        return try PixelBuffer(contentsOf: folder.appendingPathComponent(name))
    }

    /// An image in another format, turned clockwise by quarters.
    private static func converted(
        _ image: PixelBuffer, to format: PixelFormat, turns: Int = 0
    ) throws -> PixelBuffer {
        let isUpright = turns % 2 == 0
        let (width, height) = isUpright ? (image.width, image.height) : (image.height, image.width)
        let step = image.format.bytesPerPixel
        var bytes: [UInt8] = []
        image.withUnsafeBytes { source in
            for y in 0..<height {
                for x in 0..<width {
                    let (column, row) =
                        switch turns {
                        case 0: (x, y)
                        case 1: (y, image.height - 1 - x)
                        case 2: (image.width - 1 - x, image.height - 1 - y)
                        default: (image.width - 1 - y, x)
                        }
                    let place = row * image.bytesPerRow + column * step
                    let rgb = step < 3 ? Array(repeating: source[place], count: 3) : (0..<3).map { source[place + $0] }
                    switch format {
                    case .gray8: bytes.append(rgb[1])
                    case .rgb8: bytes += rgb
                    case .rgba8: bytes += rgb + [255]
                    case .bgra8: bytes += rgb.reversed() + [255]
                    }
                }
            }
        }
        return try PixelBuffer(bytes, width: width, height: height, format: format)
    }

    @Test(arguments: [PixelFormat.gray8, .rgb8, .rgba8, .bgra8], [0, 1, 2, 3])
    func readsAnImageInEachFormatAndTurn(format: PixelFormat, turns: Int) throws {
        let image = try Self.converted(Self.fixture("cover.png"), to: format, turns: turns)
        let lines = try TextReader().lines(in: image)
        let words = Set(lines.flatMap { $0.text.split(separator: " ").map(String.init) })
        #expect(words.isSuperset(of: ["COPPER", "HORIZON", "Delta", "Wren"]), "\(words)")
        let first = try #require(lines.first { $0.text.contains("COPPER") })
        #expect(first.confidence > 0.7 && first.confidence <= 1)
        // The text's own top left is where the picture was turned to.
        let corner = first.outline.topLeft
        let expected = [(0.09, 0.09), (0.91, 0.09), (0.91, 0.91), (0.09, 0.91)][turns]
        #expect(abs(corner.x - expected.0) < 0.06 && abs(corner.y - expected.1) < 0.06, "\(corner)")
    }

    @Test func readsNothingWhereThereIsNoText() throws {
        let reader = try TextReader()
        #expect(try reader.lines(in: Self.fixture("plain.png")).allSatisfy { $0.text.count < 8 })
        for side in [1, 2, 3] {
            let dots = [UInt8](repeating: 90, count: side * side)
            #expect(try reader.lines(in: PixelBuffer(dots, width: side, height: side, format: .gray8)).isEmpty)
        }
    }

    @Test func languagesThatAreNotThereAreNamed() throws {
        let error = #expect(throws: TextReaderError.self) { try TextReader(languages: ["eng", "tlh"]) }
        #expect(error?.subject == "eng+tlh" && error?.localizedDescription.contains("tesseract-ocr-") == true)
        let nowhere = URL(fileURLWithPath: "/nowhere")
        #expect(throws: TextReaderError.self) { try TextReader(data: nowhere) }
        #expect(throws: TextReaderError.self) { try TextReader(languages: []) }
    }

    /// The photo shows nothing that a catalog image shows, but for the text.
    @Test func aTextInThePhotoFindsTheEntity() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("texts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let indexer = try CatalogIndexer(at: folder)
        func picture(_ seed: Int) throws -> PixelBuffer {
            let bytes = (0..<64 * 64 * 3).map { UInt8(truncatingIfNeeded: ($0 / 48 * seed * 37) ^ ($0 * seed)) }
            return try PixelBuffer(bytes, width: 64, height: 64, format: .rgb8)
        }
        for (seed, title) in [(1, "Copper Horizon"), (2, "Silver Orchard"), (3, nil)] {
            let entity = CatalogEntity(id: "\(seed)", title: title)
            try await indexer.upsert(IndexItem(entity, image: .pixels(try picture(seed))))
        }
        let photo = try Self.fixture("cover.png")
        let catalog = try Catalog(at: folder)
        #expect(try await catalog.search(matching: photo).isEmpty)
        let options = SearchOptions(texts: try TextReader().lines(in: photo).map(\.text))
        #expect(try await catalog.search(matching: photo, options: options).map(\.id) == ["1"])
    }
}
