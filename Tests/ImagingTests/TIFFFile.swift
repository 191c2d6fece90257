import Foundation

/// TIFF files of one strip (TIFF 6.0, section 2).
enum TIFFFile {
    /// - Parameter tags: numbers of two bytes, beside those of the size and the strip; a compression if there is one.
    static func file(width: UInt16, height: UInt16, tags: [UInt16: [UInt16]], pixels: Data) -> Data {
        let strip: [UInt16: [UInt16]] = [
            256: [width], 257: [height], 259: [1], 273: [8], 278: [height], 279: [UInt16(pixels.count)],
        ]
        let padded = pixels + Data(count: pixels.count % 2)
        let start = 8 + padded.count
        return header(directoryAt: start) + padded + directory(strip.merging(tags) { $1 }, at: start)
    }

    /// A file of square tiles, in rows.
    static func file(width: UInt16, height: UInt16, tags: [UInt16: [UInt16]], tiles: [Data], side: UInt16) -> Data {
        let counts = tiles.map { UInt16($0.count) }
        let starts = counts.indices.map { counts[..<$0].reduce(8, +) }
        let layout: [UInt16: [UInt16]] = [
            256: [width], 257: [height], 259: [1], 322: [side], 323: [side], 324: starts, 325: counts,
        ]
        let data = tiles.reduce(Data(), +)
        let start = 8 + data.count
        return header(directoryAt: start) + data + directory(layout.merging(tags) { $1 }, at: start)
    }

    /// A page or a part of a page, in one strip.
    struct Page {
        let side: UInt16
        /// As for a file of one page.
        let tags: [UInt16: [UInt16]]
        let pixels: Data
    }

    /// A file of square pages, in their order.
    ///
    /// - Parameter parts: what the first page has for its SubIFDs (TIFF Technical Note 1).
    static func file(pages: [Page], parts: [Page] = []) -> Data {
        var body = Data()
        // Pixels come first, then the directories, from the last to the first.
        let strips = (pages + parts).map { page in
            defer { body += page.pixels + Data(count: page.pixels.count % 2) }
            return UInt16(8 + body.count)
        }
        func add(_ page: Page, _ strip: UInt16, next: Int = 0, parts: [UInt16] = []) -> Int {
            var tags: [UInt16: [UInt16]] = [
                256: [page.side], 257: [page.side], 259: [1], 273: [strip], 278: [page.side],
                279: [UInt16(page.pixels.count)],
            ]
            if !parts.isEmpty { tags[330] = parts }
            let start = 8 + body.count
            body += directory(tags.merging(page.tags) { $1 }, at: start, next: next)
            return start
        }
        let partStarts = zip(parts, strips.dropFirst(pages.count)).map { UInt16(add($0, $1)) }
        var next = 0
        for (index, page) in pages.enumerated().reversed() {
            next = add(page, strips[index], next: next, parts: index == 0 ? partStarts : [])
        }
        return header(directoryAt: next) + body
    }

    /// An EXIF block, which has no pixels (EXIF 2.32, section 4.5).
    static func exif(orientation: UInt16) -> Data { header(directoryAt: 8) + directory([0x0112: [orientation]], at: 8) }

    private static func header(directoryAt start: Int) -> Data {
        Data("II".utf8) + littleEndian(UInt16(42)) + littleEndian(UInt32(start))
    }

    /// A directory and the values that do not fit into its entries.
    private static func directory(_ tags: [UInt16: [UInt16]], at start: Int, next: Int = 0) -> Data {
        let end = start + 2 + 12 * tags.count + 4
        var entries = littleEndian(UInt16(tags.count))
        var values = Data()
        for (tag, numbers) in tags.sorted(by: { $0.key < $1.key }) {
            // Type 3 has two bytes, type 4 has four. Offsets of directories have four.
            let isLong = tag == 330
            let data = numbers.reduce(Data()) { $0 + (isLong ? littleEndian(UInt32($1)) : littleEndian($1)) }
            entries += littleEndian(tag) + littleEndian(UInt16(isLong ? 4 : 3)) + littleEndian(UInt32(numbers.count))
            if data.count <= 4 {
                entries += data + Data(count: 4 - data.count)
            } else {
                entries += littleEndian(UInt32(end + values.count))
                values += data
            }
        }
        return entries + littleEndian(UInt32(next)) + values
    }

    private static func littleEndian<Number: FixedWidthInteger>(_ value: Number) -> Data {
        withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
}
