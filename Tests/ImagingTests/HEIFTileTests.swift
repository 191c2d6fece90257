#if HEIF
    import Foundation
    import Imaging
    import Testing

    /// Files of nothing but item references.
    struct HEIFTileTests {
        private static func big(_ value: Int, _ size: Int) -> Data {
            Data((0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) })
        }

        private static func box(_ type: String, _ body: Data) -> Data {
            big(body.count + 8, 4) + Data(type.utf8) + body
        }

        private static func file(_ grids: [(Int, [Int])]) -> Data {
            let references = grids.map { from, tiles in
                box("dimg", big(from, 2) + big(tiles.count, 2) + tiles.reduce(Data()) { $0 + big($1, 2) })
            }
            let iref = box("iref", references.reduce(Data(count: 4), +))
            return box("ftyp", Data("heic\0\0\0\0mif1heic".utf8)) + box("meta", Data(count: 4) + iref)
        }

        private static func reason(_ grids: [(Int, [Int])]) -> ImageError.Reason? {
            FormatTests.reason(file(grids), DecodingOptions(maximumTileCount: 100))
        }

        @Test func tilesAreLimited() {
            #expect(Self.reason([(1, Array(repeating: 2, count: 101))]) == .tooManyTiles(limit: 100))
            // This one libheif may read; it lacks everything else.
            guard case .damaged = Self.reason([(1, Array(repeating: 2, count: 100))]) else {
                Issue.record("a hundred tiles are refused")
                return
            }
        }

        @Test func tilesOfNestedGridsAreCountedAsOftenAsTheyAreDecoded() {
            let tens = Array(repeating: 0, count: 10)
            #expect(
                Self.reason([(1, tens.map { _ in 2 }), (2, tens.map { _ in 3 }), (3, [4, 5])])
                    == .tooManyTiles(limit: 100))
            #expect(Self.reason([(1, [2, 3]), (2, [1])]) == .tooManyTiles(limit: 100), "a grid in itself")
            // A chain that would take the stack.
            #expect(Self.reason((1...20_000).map { ($0, [$0 + 1]) }) == .tooManyTiles(limit: 100))
            // Twenty levels of two: a million.
            #expect(Self.reason((1...20).map { ($0, [$0 + 1, $0 + 1]) }) == .tooManyTiles(limit: 100))
        }

        @Test func photographsAreWithinTheLimit() throws {
            #expect(FormatTests.reason(try FormatTests.data("full-chroma.heic")) == nil)
        }
    }
#endif
