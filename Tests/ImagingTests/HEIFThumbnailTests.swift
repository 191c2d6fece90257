#if LK_HEIF
import Foundation
import Imaging
import Testing

/// Thumbnails that show something else than their image.
struct HEIFThumbnailTests {
    private static func bigEndian<Number: FixedWidthInteger>(_ value: Number) -> Data {
        withUnsafeBytes(of: value.bigEndian) { Data($0) }
    }

    private static func number(_ file: Data, _ at: Int) -> UInt32 {
        file[at..<(at + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Appends to the last of nested boxes.
    private static func append(_ body: Data, to path: [String], of file: inout Data) throws {
        var starts: [Int] = []
        for type in path {
            let start = try #require(file[(starts.last ?? 0)...].firstRange(of: Data(type.utf8))).lowerBound - 4
            starts.append(start)
        }
        let last = try #require(starts.last)
        let end = last + Int(number(file, last))
        file.insert(contentsOf: body, at: end)
        for start in starts {
            file.replaceSubrange(
                start..<(start + 4), with: bigEndian(number(file, start) + UInt32(body.count)))
        }
    }

    /// A file of two items, an image of 128 × 128 pixels and its alpha channel of 64 × 64, with a third one: the
    /// alpha channel's picture as a thumbnail.
    private static func file() throws -> Data {
        let folder = FormatTests.folder.deletingLastPathComponent()
        var file = try Data(contentsOf: folder.appendingPathComponent("alpha-smaller-than-its-header.heic"))
        let count = file.count
        func contents(of box: String) throws -> Int {
            try #require(file.firstRange(of: Data(box.utf8))).upperBound
        }
        // Entries of 14 bytes behind a version, the sizes of their fields, and their number.
        let alpha = try contents(of: "iloc") + 8 + 14
        try append(
            bigEndian(UInt16(3)) + file[(alpha + 2)..<(alpha + 14)], to: ["meta", "iloc"], of: &file)
        let item = Data([2, 0, 0, 0, 0, 3, 0, 0]) + Data("hvc1\0".utf8)
        try append(bigEndian(UInt32(21)) + Data("infe".utf8) + item, to: ["meta", "iinf"], of: &file)
        let link = Data("thmb".utf8) + Data([0, 3, 0, 1, 0, 1])
        try append(bigEndian(UInt32(14)) + link, to: ["meta", "iref"], of: &file)
        // The sixth property; the fourth is the decoder configuration of the alpha channel.
        let size = Data("ispe".utf8) + Data([0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64])
        try append(bigEndian(UInt32(20)) + size, to: ["meta", "iprp", "ipco"], of: &file)
        try append(Data([0, 3, 2, 6, 0x84]), to: ["meta", "iprp", "ipma"], of: &file)
        // The last bytes of the numbers of items.
        for (box, offset) in [("iloc", 7), ("iinf", 5), ("ipma", 7)] {
            let at = try contents(of: box) + offset
            file[at] = 3
        }
        let moved = UInt32(file.count - count)
        for entry in 0..<3 {
            let at = try contents(of: "iloc") + 8 + 14 * entry + 6
            file.replaceSubrange(at..<(at + 4), with: bigEndian(number(file, at) + moved))
        }
        return file
    }

    @Test func aThumbnailWithoutTheAlphaChannelOfItsImageIsNotRead() throws {
        let file = try Self.file()
        let whole = try PixelBuffer(decoding: file)
        let image = try PixelBuffer(decoding: file, options: DecodingOptions(neededSize: (20, 20)))
        #expect((image.width, image.height) == (128, 128))
        #expect(FormatTests.colors(image) == FormatTests.colors(whole))
    }
}
#endif
