#if LK_HEIF
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

    @Test func noLimitIsTheLargestOne() {
        for limit in [Int.max, Int.max - 1] {
            let options = DecodingOptions(maximumTileCount: limit)
            guard case .damaged = FormatTests.reason(Self.file([(1, [2, 3])]), options) else {
                Issue.record("two tiles are refused")
                continue
            }
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

    @Test func tilesWithAnAlphaChannelAreRefused() {
        func reason(kind: String, mainImage: Int) -> ImageError.Reason? {
            let links =
                Self.box("dimg", Self.big(1, 2) + Self.big(2, 2) + Self.big(2, 2) + Self.big(3, 2))
                + Self.box("auxl", Self.big(4, 2) + Self.big(1, 2) + Self.big(mainImage, 2))
            let item = Self.box(
                "infe", Data([2, 0, 0, 0]) + Self.big(1, 2) + Self.big(0, 2) + Data("\(kind)\0".utf8))
            let meta =
                Self.box("iinf", Data(count: 4) + Self.big(1, 2) + item) + Self.box("iref", Data(count: 4) + links)
            return FormatTests.reason(
                Self.box("ftyp", Data("heic\0\0\0\0mif1heic".utf8)) + Self.box("meta", Data(count: 4) + meta))
        }
        let refused = ImageError.Reason.damaged("its tiles have alpha channels")
        #expect(reason(kind: "grid", mainImage: 2) == refused)
        // The depth map of the whole image; the gain map of one that is a part of another.
        #expect(reason(kind: "grid", mainImage: 1) != refused)
        #expect(reason(kind: "tmap", mainImage: 2) != refused)
    }

    @Test func photographsAreWithinTheLimit() throws {
        #expect(FormatTests.reason(try FormatTests.data("full-chroma.heic")) == nil)
    }
}
#endif
