import Foundation
import GRDB

/// A file that is made from the database alone, to be mapped into memory.
///
/// ``DerivedFileStore`` opens, replaces and verifies the files of every kind.
protocol DerivedFile: Sendable {
    /// What it is made with besides the database: the model whose prints or features it holds.
    associatedtype Source: Sendable

    static var format: DerivedFileFormat { get }
    static func modelDigest(of source: Source) -> Data
    /// Whether the width in a header is the source's.
    static func isWidth(_ width: Int, of source: Source) -> Bool

    var contents: DerivedContents { get }

    /// Nil if the contents are of no use although their header and size are right.
    init?(_ contents: DerivedContents)

    /// Writes the sections.
    ///
    /// - Parameter earlier: an intact file of an earlier state of the same database, whose entities are taken over if
    ///   they did not change since.
    static func write(
        _ db: Database, source: Source, folder: CatalogFolder, reusing earlier: Self?, to output: inout DerivedOutput
    ) throws -> DerivedFileShape
}

extension DerivedFile {
    var header: DerivedFileHeader { contents.header }

    /// - Throws: ``CatalogError`` if another program changed the file, or its disk failed: what was read may be zeros.
    func checkIsUnchanged(in folder: CatalogFolder) throws(CatalogError) {
        guard contents.file.isUnchanged else {
            throw folder.error(
                .damaged(
                    "\(Self.format.name) was changed by another program while it was read, or its disk failed; "
                        + "search again, which opens the file again or makes it again"))
        }
    }

    /// Maps a file; nil if it is missing, or its header or its size is invalid.
    ///
    /// - Throws: `POSIXError` if it cannot be mapped.
    init?(_ url: URL) throws(POSIXError) {
        guard let file = try MappedFile(url), let contents = DerivedContents(file, as: Self.format) else { return nil }
        self.init(contents)
    }
}

/// A derived file in memory, with a valid header and the size that the header says.
struct DerivedContents: Sendable {
    let header: DerivedFileHeader
    let file: MappedFile
    private let sections: [Range<Int>]

    init?(_ file: MappedFile, as format: DerivedFileFormat) {
        guard let header = DerivedFileHeader(file.bytes, as: format), let layout = format.layout(header.shape),
            layout.byteCount == file.bytes.count
        else { return nil }
        self.header = header
        self.file = file
        sections = layout.sections
    }

    func section<Element>(_ index: Int, of type: Element.Type) -> UnsafeBufferPointer<Element> {
        file.section(sections[index], of: type)
    }

    /// Whether the contents match their digest. O(file).
    var isIntact: Bool { file.digest(from: DerivedFileHeader.byteCount) == header.contentDigest }
}
