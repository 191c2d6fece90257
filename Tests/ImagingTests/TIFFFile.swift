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

    /// An EXIF block, which has no pixels (EXIF 2.32, section 4.5).
    static func exif(orientation: UInt16) -> Data { header(directoryAt: 8) + directory([0x0112: [orientation]], at: 8) }

    private static func header(directoryAt start: Int) -> Data {
        Data("II".utf8) + littleEndian(UInt16(42)) + littleEndian(UInt32(start))
    }

    /// A directory and the values that do not fit into its entries.
    private static func directory(_ tags: [UInt16: [UInt16]], at start: Int) -> Data {
        let end = start + 2 + 12 * tags.count + 4
        var entries = littleEndian(UInt16(tags.count))
        var values = Data()
        for (tag, numbers) in tags.sorted(by: { $0.key < $1.key }) {
            let data = numbers.reduce(Data()) { $0 + littleEndian($1) }
            // Type 3 has two bytes.
            entries += littleEndian(tag) + littleEndian(UInt16(3)) + littleEndian(UInt32(numbers.count))
            if data.count <= 4 {
                entries += data + Data(count: 4 - data.count)
            } else {
                entries += littleEndian(UInt32(end + values.count))
                values += data
            }
        }
        return entries + Data(count: 4) + values
    }

    private static func littleEndian<Number: FixedWidthInteger>(_ value: Number) -> Data {
        withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
}
