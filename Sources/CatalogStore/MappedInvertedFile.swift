import CatalogEntities
import Digests
import FeaturePrints
package import Foundation
import GRDB
import Synchronization
import VectorSearch

/// The file `prints.ivf`: the inverted file with which a search reads a small part of a large catalog's prints.
///
/// It belongs to `prints.matrix` of the same revision; beside any other, searches are exact. The width of its header is
/// the dimension, the count is that of the rows, and the total that of the lists. The sections are the images' rows in
/// the database (``ImageRow``) as 64-bit integers, and those of `InvertedFileContents`.
final class MappedInvertedFile: DerivedFile {
    static let format = DerivedFileFormat(name: "prints.ivf", magic: "LKPRTIVF", version: 3) { shape in
        [(8, shape.count)]
            + InvertedFileContents.sectionSizes(dimension: shape.width, listCount: shape.total)
            + [
                InvertedFileContents.blocks(rowCount: shape.count, listCount: shape.total, dimension: shape.width)
            ]
    }

    static func modelDigest(of source: FeaturePrintModel) -> Data { MappedPrintMatrix.modelDigest(of: source) }
    static func isWidth(_ width: Int, of source: FeaturePrintModel) -> Bool { width == source.dimension }

    let contents: DerivedContents
    private let lists: InvertedFileContents

    /// Nil if the lists overlap. O(lists).
    init?(_ contents: DerivedContents) {
        let shape = contents.header.shape
        guard shape.width > 0, shape.total > 0 else { return nil }
        let count = InvertedFileContents.sectionSizes(dimension: shape.width, listCount: shape.total).count + 1
        guard
            let lists = InvertedFileContents(
                dimension: shape.width, listCount: shape.total,
                sections: (1...count).map { UnsafeRawBufferPointer(contents.section($0, of: UInt8.self)) },
                owner: contents.file)
        else { return nil }
        self.contents = contents
        self.lists = lists
    }

    private var keys: UnsafeBufferPointer<Int64> { contents.section(0, of: Int64.self) }

    /// The index of a matrix; nil for a matrix of another revision. O(1).
    func index(of matrix: MappedPrintMatrix) -> InvertedFileIndex? {
        guard header.revision == matrix.header.revision, header.catalogID == matrix.header.catalogID else {
            return nil
        }
        return InvertedFileIndex(matrix.matrix, contents: lists)
    }

    /// Whether the centroids are made anew: since they were made, the rows have halved, or more than a sixteenth of
    /// them have come. Rows of another kind have no centroids near them, so that their codes tell little.
    ///
    /// - Parameter origins: the row of this file for each of the catalog; nil for a new one.
    private func hasDrifted(from origins: [UInt32?]) -> Bool {
        let new = max(origins.count { $0 == nil }, origins.count - lists.trainedRowCount)
        return new * 16 > origins.count || origins.count * 2 <= lists.trainedRowCount
    }

    /// O(rows) for rows that the earlier file has, O(rows · lists) for others; 100 bytes of memory per row.
    static func write(
        _ db: Database, source: FeaturePrintModel, folder: CatalogFolder, reusing earlier: MappedInvertedFile?,
        to output: inout DerivedOutput
    ) throws -> DerivedFileShape {
        guard let matrix = try MappedPrintMatrix(folder.matrix),
            matrix.header.revision == (try CatalogRevision.current(db))
        else { throw folder.error(.busy) }
        var origins: [UInt32?] = []
        if let earlier {
            let images = DerivedImages(
                table: "print", column: "vector", earlier: (earlier.keys, earlier.header.revision))
            try images.forEach(db) { _, origin in
                if case .earlier(let position) = origin {
                    origins.append(UInt32(position))
                } else {
                    origins.append(nil)
                }
            }
            guard origins.count == matrix.rowCount else { throw folder.error(.busy) }
        }
        let index: InvertedFileIndex
        if let earlier, !earlier.hasDrifted(from: origins) {
            // Only the contents are read, so the rows of the earlier matrix are not needed.
            index = InvertedFileIndex(matrix.matrix, contents: earlier.lists).updated(
                for: matrix.matrix, origins: origins)
        } else {
            index = InvertedFileIndex(matrix.matrix)
        }
        try output.append((0..<matrix.rowCount).map { matrix.key($0) })
        for section in index.contents.sections {
            try output.beginSection()
            try output.append(section)
        }
        try matrix.checkIsUnchanged(in: folder)
        return DerivedFileShape(width: matrix.dimension, count: matrix.rowCount, total: index.listCount)
    }
}

/// The inverted file beside a matrix, opened again when another one is there.
final class OpenInvertedFile: Sendable {
    private let store: DerivedFileStore<MappedInvertedFile>
    private let state = Mutex<(file: MappedInvertedFile?, identity: FileIdentity?)>((nil, nil))

    init(_ store: DerivedFileStore<MappedInvertedFile>) { self.store = store }

    /// The file at the path; nil if there is none, or one that is damaged. O(1), or O(lists) for another file.
    func current() -> MappedInvertedFile? {
        state.withLock { state in
            let found = FileIdentity(store.url)
            if found != state.identity || state.file?.contents.file.isUnchanged == false {
                // One that cannot be read is done without.
                state = (found == nil ? nil : (try? store.mapped()) ?? nil, found)
            }
            return state.file
        }
    }
}

extension CatalogFolder {
    /// Derived from the matrix: the prints by their nearest centroids.
    package var invertedFile: URL { url.appendingPathComponent(MappedInvertedFile.format.name) }
}
