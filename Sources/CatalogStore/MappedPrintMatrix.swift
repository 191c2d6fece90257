package import CatalogEntities
import FeaturePrints
package import Foundation
import GRDB
package import VectorSearch

/// The file `prints.matrix`: the prints of a catalog as rows of a matrix.
///
/// The width of its header is the dimension, the count is that of the rows, one per image, and the total that of the
/// entities. The sections are rows of half precision, their float32 squared norms, the images' rows in the database
/// (``ImageRow``) as 64-bit integers, int8 rows, their float32 scales, and their float32 residual norms
/// (`QuantizedRows`).
package final class MappedPrintMatrix: DerivedFile {
    static let format = DerivedFileFormat(name: "prints.matrix", magic: "LKPRINTS", version: 5) { shape in
        [
            (shape.width * 2, shape.count), (4, shape.count), (8, shape.count), (shape.width, shape.count),
            (4, shape.count), (4, shape.count),
        ]
    }

    private enum Section { static let (rows, norms, keys, codes, scales, residualNorms) = (0, 1, 2, 3, 4, 5) }

    static func modelDigest(of source: FeaturePrintModel) -> Data { Data(hexadecimal: source.identity.digest) }
    static func isWidth(_ width: Int, of source: FeaturePrintModel) -> Bool { width == source.dimension }

    let contents: DerivedContents

    init?(_ contents: DerivedContents) {
        let shape = contents.header.shape
        guard shape.width > 0, shape.total <= shape.count else { return nil }
        self.contents = contents
    }

    package var revision: CatalogRevision { header.revision }
    package var rowCount: Int { header.shape.count }
    package var entityCount: Int { header.shape.total }
    package var dimension: Int { header.shape.width }

    package var matrix: PrintMatrix {
        PrintMatrix(
            halves: contents.section(Section.rows, of: UInt16.self),
            squaredNorms: contents.section(Section.norms, of: Float.self), quantized: quantized,
            dimension: dimension, owner: self)
    }

    private var quantized: QuantizedRows? {
        guard rowCount > 0 else { return nil }
        return QuantizedRows(
            codes: contents.section(Section.codes, of: UInt8.self),
            scales: contents.section(Section.scales, of: Float.self),
            residualNorms: contents.section(Section.residualNorms, of: Float.self))
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(Section.keys, of: Int64.self) }

    /// The image's row in the database.
    package func key(_ row: Int) -> Int64 { keys[row] }

    /// The last row whose key is at most `key`, or -1; keys ascend. O(log rows).
    package func lastRow(upTo key: Int64) -> Int {
        let keys = keys
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] <= key { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The row of an image; nil if the matrix does not have it. O(log rows).
    package func row(withKey key: Int64) -> Int? {
        let row = lastRow(upTo: key)
        return row >= 0 && self.key(row) == key ? row : nil
    }

    /// The rows of an entity's images. O(log rows).
    package func rows(ofEntity entity: Int64) -> Range<Int> {
        let first = lastRow(upTo: ImageRow.row(of: entity) &- 1) + 1
        return first..<max(first, lastRow(upTo: ImageRow.last(of: entity)) + 1)
    }

    /// The rows of the images of some entities, ascending, as the fewest ranges; entities without a row are skipped.
    /// O(rows + entities).
    package func rows(ofEntities wanted: [Int64]) -> [Range<Int>] {
        let keys = keys
        var ranges: [Range<Int>] = []
        var row = 0
        for entity in wanted {
            while row < keys.count, ImageRow.entity(keys[row]) < entity { row += 1 }
            let start = row
            while row < keys.count, ImageRow.entity(keys[row]) == entity { row += 1 }
            guard start < row else { continue }
            if let last = ranges.last, last.upperBound == start {
                ranges[ranges.count - 1] = last.lowerBound..<row
            } else {
                ranges.append(start..<row)
            }
        }
        return ranges
    }

    /// O(prints) time; 24 bytes of memory per print, because prints are read twice instead of kept.
    static func write(
        _ db: Database, source: FeaturePrintModel, folder: CatalogFolder, reusing earlier: MappedPrintMatrix?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        let dimension = source.dimension
        let images = DerivedImages(
            table: "print", column: "vector", earlier: earlier.map { ($0.keys, $0.header.revision) })
        func vector(_ blob: Data, _ key: Int64) throws -> [Float] {
            guard let vector = HalfPrecision.vector(blob, dimension: dimension) else {
                throw folder.error(
                    .damaged("a print of row \(ImageRow.entity(key)) is not \(dimension) finite floats"))
            }
            return vector
        }
        /// The bytes of a row of the earlier file's section.
        func row<Element>(_ position: Int, _ section: Int, of type: Element.Type) -> UnsafeRawBufferPointer {
            guard let earlier else { return UnsafeRawBufferPointer(start: nil, count: 0) }
            let elements = earlier.contents.section(section, of: type)
            return UnsafeRawBufferPointer(
                UnsafeBufferPointer(rebasing: elements[(position * dimension)..<((position + 1) * dimension)]))
        }
        func value(_ position: Int, _ section: Int) -> Float {
            earlier?.contents.section(section, of: Float.self)[position] ?? 0
        }
        let largestSquaredNorm = Float((1 + FeaturePrintModel.normTolerance) * (1 + FeaturePrintModel.normTolerance))
        var keys: [Int64] = []
        var norms: [Float] = []
        var entityCount = 0
        try images.forEach(db) { key, origin in
            if keys.last.map({ ImageRow.entity($0) }) != ImageRow.entity(key) { entityCount += 1 }
            keys.append(key)
            switch origin {
            case .earlier(let position):
                try output.append(row(position, Section.rows, of: UInt16.self))
                norms.append(value(position, Section.norms))
            case .blob(let blob):
                let squaredNorm = try vector(blob, key).withUnsafeBufferPointer(PrintMatrix.squaredNorm)
                // Distances would overflow.
                guard squaredNorm <= largestSquaredNorm else {
                    throw folder.error(
                        .damaged("a print of row \(ImageRow.entity(key)) is longer than a unit vector"))
                }
                norms.append(squaredNorm)
                try output.append(blob)
            }
        }
        try output.beginSection()
        try output.append(norms)
        try output.beginSection()
        try output.append(keys)
        try output.beginSection()
        var scales: [Float] = []
        var residualNorms: [Float] = []
        var codes = [UInt8](repeating: 0, count: dimension)
        try images.forEach(db) { key, origin in
            switch origin {
            case .earlier(let position):
                try output.append(row(position, Section.codes, of: UInt8.self))
                scales.append(value(position, Section.scales))
                residualNorms.append(value(position, Section.residualNorms))
            case .blob(let blob):
                let (scale, residualNorm) = try vector(blob, key).withUnsafeBufferPointer { vector in
                    codes.withUnsafeMutableBufferPointer { QuantizedRows.quantize(vector, into: $0) }
                }
                try output.append(codes)
                scales.append(scale)
                residualNorms.append(residualNorm)
            }
        }
        try output.beginSection()
        try output.append(scales)
        try output.beginSection()
        try output.append(residualNorms)
        return DerivedFileShape(width: dimension, count: keys.count, total: entityCount)
    }
}

extension CatalogFolder {
    /// Derived from the database: the prints as a matrix.
    package var matrix: URL { url.appendingPathComponent(MappedPrintMatrix.format.name) }
}
