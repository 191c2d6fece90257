import Foundation
import VectorSearch

/// A matrix file, mapped into memory.
final class MappedPrintMatrix: Sendable {
    let header: PrintMatrixHeader
    private let file: MappedFile

    /// Maps the file; nil if it is missing, or its header or its size is invalid. O(1): pages are read on demand.
    init?(_ url: URL) {
        guard let file = MappedFile(url), let header = PrintMatrixHeader(file.bytes),
            header.fileByteCount == file.bytes.count
        else { return nil }
        self.header = header
        self.file = file
    }

    private func section<Element>(_ offset: Int, count: Int, of type: Element.Type) -> UnsafeBufferPointer<Element> {
        file.section(offset, count: count, of: type)
    }

    var matrix: PrintMatrix {
        PrintMatrix(
            rows: section(header.rowsOffset, count: header.rowCount * header.dimension, of: Float.self),
            squaredNorms: section(header.normsOffset, count: header.rowCount, of: Float.self), quantized: quantized,
            dimension: header.dimension, owner: self)
    }

    private var quantized: QuantizedRows? {
        guard header.rowCount > 0 else { return nil }
        return QuantizedRows(
            codes: section(header.codesOffset, count: header.rowCount * header.dimension, of: UInt8.self),
            scales: section(header.scalesOffset, count: header.rowCount, of: Float.self),
            residualNorms: section(header.residualNormsOffset, count: header.rowCount, of: Float.self))
    }

    /// The entity's row in the database.
    func key(_ row: Int) -> Int64 {
        section(header.keysOffset, count: header.rowCount, of: Int64.self)[row]
    }

    /// The last row whose key is at most `key`, or -1; keys ascend. O(log rows).
    func lastRow(upTo key: Int64) -> Int {
        let keys = section(header.keysOffset, count: header.rowCount, of: Int64.self)
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] <= key { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The row of an entity; nil if the matrix does not have it. O(log rows).
    func row(withKey key: Int64) -> Int? {
        let row = lastRow(upTo: key)
        return row >= 0 && self.key(row) == key ? row : nil
    }

    /// The rows with these ascending keys, as the fewest ranges; keys without a row are skipped. O(rows + keys).
    func rows(withKeys wanted: [Int64]) -> [Range<Int>] {
        let keys = section(header.keysOffset, count: header.rowCount, of: Int64.self)
        var ranges: [Range<Int>] = []
        var row = 0
        for key in wanted {
            while row < keys.count, keys[row] < key { row += 1 }
            guard row < keys.count, keys[row] == key else { continue }
            if let last = ranges.last, last.upperBound == row {
                ranges[ranges.count - 1] = last.lowerBound..<(row + 1)
            } else {
                ranges.append(row..<(row + 1))
            }
        }
        return ranges
    }

    /// Whether the contents match the digest. O(file).
    var isIntact: Bool { file.digest(from: PrintMatrixHeader.byteCount) == header.contentDigest }

    /// Whether another file is at the path now.
    func isReplaced(at url: URL) -> Bool { file.isReplaced(at: url) }
}
