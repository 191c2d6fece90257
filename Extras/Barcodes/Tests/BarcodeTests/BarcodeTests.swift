import Barcodes
import Foundation
import Lookalike
import Testing

struct BarcodeTests {
    private static let code = "4006381333931"

    @Test(arguments: [PixelFormat.gray8, .rgb8, .rgba8, .bgra8], [0, 1, 2, 3])
    func readsACodeInEachFormatAndTurn(format: PixelFormat, quarters: Int) throws {
        let found = BarcodeReader().barcodes(in: try Self.drawing(Self.code, format: format, quarters: quarters))
        #expect(found.map(\.text) == [Self.code])
        let code = try #require(found.first)
        #expect(code.symbology == "EAN-13")
        #expect(code.outline.corners.allSatisfy { (0...1).contains($0.x) && (0...1).contains($0.y) })
        // The code fills the middle; its own left end is where the picture was turned to.
        let ends = (code.outline.topLeft, code.outline.topRight)
        switch quarters {
        case 0: #expect(ends.0.x < 0.2 && ends.1.x > 0.8)
        case 1: #expect(ends.0.y < 0.2 && ends.1.y > 0.8)
        case 2: #expect(ends.0.x > 0.8 && ends.1.x < 0.2)
        default: #expect(ends.0.y > 0.8 && ends.1.y < 0.2)
        }
    }

    /// zxing-cpp compares the codes of an image, which must not end the process.
    @Test func readsSeveralCodesInALargeImage() throws {
        let codes = ["4006381333931", "9780306406157", "5901234123457"]
        let parts = try codes.map { try Self.drawing($0, format: .gray8, quarters: 0) }
        var bytes = [UInt8](repeating: 235, count: 1600 * 1400)
        for (index, part) in parts.enumerated() {
            for turn in 0..<2 {
                // Each of them twice, in two sizes.
                part.withUnsafeBytes { source in
                    for y in 0..<part.height << turn {
                        for x in 0..<part.width << turn {
                            bytes[(40 + 430 * index + 150 * turn + y) * 1600 + 60 + x] =
                                source[(y >> turn) * part.bytesPerRow + x >> turn]
                        }
                    }
                }
            }
        }
        let image = try PixelBuffer(bytes, width: 1600, height: 1400, format: .gray8)
        #expect(Set(BarcodeReader().barcodes(in: image).map(\.text)) == Set(codes))
        #expect(BarcodeReader(limit: 1).barcodes(in: image).count == 1)
    }

    @Test(arguments: [0, 7, 20, 33, 45, 71, 100, 155], [false, true])
    func readsTiltedAndInvertedCodes(degrees: Int, isInverted: Bool) throws {
        let image = try Self.photo(
            [(Self.code, 250, 250, Double(degrees), isInverted)], width: 500, height: 500)
        let found = BarcodeReader().barcodes(in: image)
        #expect(found.map(\.text) == [Self.code])
        // The code's own ends are where it was turned to.
        let code = try #require(found.first)
        let (ends, turn) = ((code.outline.topLeft, code.outline.topRight), Double(degrees) * .pi / 180)
        #expect(abs(ends.0.x - 0.5 + cos(turn) * 0.285) < 0.1 && abs(ends.0.y - 0.5 + sin(turn) * 0.285) < 0.1)
        #expect(abs(ends.1.x - 0.5 - cos(turn) * 0.285) < 0.1 && abs(ends.1.y - 0.5 - sin(turn) * 0.285) < 0.1)
    }

    @Test func readsCodesOfAllKindsInOnePhoto() throws {
        let codes = ["4006381333931", "9780306406157", "5901234123457", "7195364052598"]
        let places = [(260.0, 260.0, 10.0, false), (740, 260, 50, true), (260, 740, 90, true), (740, 740, 130, false)]
        let image = try Self.photo(
            zip(codes, places).map { ($0, $1.0, $1.1, $1.2, $1.3) }, width: 1000, height: 1000)
        // The left half of the last one would be a UPC-E.
        #expect(Set(BarcodeReader().barcodes(in: image).map(\.text)) == Set(codes))
    }

    @Test func readsNoneWhereThereIsNone() throws {
        let plain = try PixelBuffer([UInt8](repeating: 90, count: 300 * 200), width: 300, height: 200, format: .gray8)
        #expect(BarcodeReader().barcodes(in: plain).isEmpty)
        let dot = try PixelBuffer([0], width: 1, height: 1, format: .gray8)
        #expect(BarcodeReader().barcodes(in: dot).isEmpty)
        // A wrong check digit is no code.
        let damaged = try Self.drawing("4006381333932", format: .gray8, quarters: 0)
        #expect(BarcodeReader().barcodes(in: damaged).isEmpty)
    }

    /// The photo shows nothing that a catalog image shows, but for the code.
    @Test func aCodeInThePhotoFindsTheEntity() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("barcodes-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let indexer = try CatalogIndexer(at: folder)
        func picture(_ seed: Int) throws -> PixelBuffer {
            let bytes = (0..<64 * 64 * 3).map { UInt8(truncatingIfNeeded: ($0 / 48 * seed * 37) ^ ($0 * seed)) }
            return try PixelBuffer(bytes, width: 64, height: 64, format: .rgb8)
        }
        for (seed, attributes) in [(1, ["ean": Self.code]), (2, ["ean": "4006381333948"]), (3, [:])] {
            let entity = CatalogEntity(id: "\(seed)", title: "Pen \(seed)", attributes: attributes)
            try await indexer.upsert(IndexItem(entity, image: .pixels(try picture(seed))))
        }
        let photo = try Self.drawing(Self.code, format: .rgb8, quarters: 0)
        let catalog = try Catalog(at: folder)
        #expect(try await catalog.search(matching: photo).isEmpty)
        let options = SearchOptions(codes: BarcodeReader().barcodes(in: photo).map(\.text))
        #expect(try await catalog.search(matching: photo, options: options).map(\.id) == ["1"])
    }

    /// Codes on a gray ground, each turned clockwise about its center, and possibly white on black.
    private static func photo(
        _ codes: [(code: String, x: Double, y: Double, degrees: Double, isInverted: Bool)], width: Int, height: Int
    ) throws -> PixelBuffer {
        var bytes = [UInt8](repeating: 130, count: width * height)
        for code in codes {
            let label = try drawing(code.code, format: .gray8, quarters: 0)
            let turn = code.degrees * .pi / 180
            label.withUnsafeBytes { source in
                for y in 0..<height {
                    for x in 0..<width {
                        let (dx, dy) = (Double(x) - code.x, Double(y) - code.y)
                        let u = dx * cos(turn) + dy * sin(turn) + Double(label.width) / 2
                        let v = dy * cos(turn) - dx * sin(turn) + Double(label.height) / 2
                        guard u >= 0, v >= 0, Int(u) < label.width - 1, Int(v) < label.height - 1 else { continue }
                        let (column, part) = (Int(u), u - u.rounded(.down))
                        let row = Int(v) * label.bytesPerRow
                        let gray = Double(source[row + column]) * (1 - part) + Double(source[row + column + 1]) * part
                        bytes[y * width + x] = UInt8(code.isInverted ? 255 - gray : gray)
                    }
                }
            }
        }
        return try PixelBuffer(bytes, width: width, height: height, format: .gray8)
    }

    /// An EAN-13 of black and white modules, 3 pixels each, with room around (ISO/IEC 15420).
    private static func drawing(_ code: String, format: PixelFormat, quarters: Int) throws -> PixelBuffer {
        let left = [
            "0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011", "0110111",
            "0001011",
        ]
        let parities = [
            "LLLLLL", "LLGLGG", "LLGGLG", "LLGGGL", "LGLLGG", "LGGLLG", "LGGGLL", "LGLGLG", "LGLGGL", "LGGLGL",
        ]
        let digits = code.compactMap(\.wholeNumberValue)
        let inverted = { (modules: String) in String(modules.map { $0 == "0" ? "1" : "0" }) }
        var modules = "101"
        for (digit, parity) in zip(digits[1...6], parities[digits[0]]) {
            modules += parity == "L" ? left[digit] : String(inverted(left[digit]).reversed())
        }
        modules += "01010" + digits[7...12].map { inverted(left[$0]) }.joined() + "101"
        let line = String(repeating: "0", count: 12) + modules + String(repeating: "0", count: 12)
        let row = line.flatMap { [UInt8](repeating: $0 == "1" ? 20 : 235, count: 3) }
        let (width, height) = (row.count, 120)
        let light = [UInt8](repeating: 235, count: width)
        let rows = (0..<height).map { (12..<height - 12).contains($0) ? row : light }
        let isUpright = quarters % 2 == 0
        let size = isUpright ? (width: width, height: height) : (width: height, height: width)
        var bytes: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let gray =
                    switch quarters {
                    case 0: rows[y][x]
                    case 1: rows[height - 1 - x][y]
                    case 2: rows[height - 1 - y][width - 1 - x]
                    default: rows[x][width - 1 - y]
                    }
                bytes += [UInt8](repeating: gray, count: format.bytesPerPixel)
            }
        }
        return try PixelBuffer(bytes, width: size.width, height: size.height, format: format)
    }
}
