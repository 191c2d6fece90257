import CatalogEntities
import Compute
import Digests
import Foundation
import GRDB
import Inference

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
    /// - Parameter earlier: an intact file of an earlier state of the same database, whose images are taken over if
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

/// The numbers that give the sizes of a derived file's sections.
struct DerivedFileShape: Hashable, Sendable {
    /// The dimension of prints, or the number of visual words.
    var width: Int
    /// Images.
    var count: Int
    /// Their features, or the entities that they are of.
    var total = 0
}

/// A kind of derived file: how it starts, and which sections follow the header.
struct DerivedFileFormat: Sendable {
    /// The file's name in the catalog's folder.
    let name: String
    /// Eight bytes.
    let magic: String
    let version: UInt32
    /// The size of an element, in bytes, and the number of elements of each section.
    let sections: @Sendable (DerivedFileShape) -> [(stride: Int, count: Int)]

    private static let alignment = 64

    static func aligned(_ offset: Int) -> Int { (offset + alignment - 1) / alignment * alignment }

    /// Where the sections are; nil if no file can be as large.
    func layout(_ shape: DerivedFileShape) -> (sections: [Range<Int>], byteCount: Int)? {
        guard shape.count < Int.max, shape.total < Int.max else { return nil }
        return Self.layout(of: sections(shape))
    }

    /// Where sections are that follow a header; nil if no file can be as large.
    static func layout(of sections: [(stride: Int, count: Int)]) -> (sections: [Range<Int>], byteCount: Int)? {
        var ranges: [Range<Int>] = []
        var end = DerivedFileHeader.byteCount
        for (stride, count) in sections {
            let (byteCount, isTooLarge) = count.multipliedReportingOverflow(by: stride)
            guard !isTooLarge, byteCount < Int.max / 16 else { return nil }
            let start = aligned(end)
            end = start + byteCount
            ranges.append(start..<end)
        }
        return (ranges, end)
    }
}

/// The first bytes of a derived file, the same for every ``DerivedFileFormat``. All numbers are little-endian:
///
///     offset  bytes
///          0      8  magic of the format
///          8      4  version of the format
///         12      4  width
///         16      8  count
///         24      8  total
///         32      8  number of the database's revision that the file was made from
///         40     16  token of that revision
///         56     16  the catalog's UUID
///         72     32  SHA-256 of the model
///        104     32  SHA-256 of everything after the header
///        136         zeros
///        176     16  the first half of the SHA-256 of the 176 bytes before
///        192         the sections of the format, each at a multiple of 64
struct DerivedFileHeader: Equatable, Sendable {
    static let byteCount = 192
    private static let digestOffset = 176

    var shape: DerivedFileShape
    var revision: CatalogRevision
    var catalogID: UUID
    var modelDigest: Data
    var contentDigest: Data
}

extension DerivedFileHeader {
    func encoded(as format: DerivedFileFormat) -> Data {
        var data = Data(format.magic.utf8)
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
        }
        append(format.version)
        append(UInt32(shape.width))
        append(UInt64(shape.count))
        append(UInt64(shape.total))
        append(revision.number)
        for id in [revision.token, catalogID] { withUnsafeBytes(of: id.uuid) { data.append(contentsOf: $0) } }
        data.append(modelDigest)
        data.append(contentDigest)
        data.append(Data(count: Self.digestOffset - data.count))
        return data + SHA256.hash(data).prefix(Self.byteCount - Self.digestOffset)
    }

    /// Nil if the bytes do not start with an intact header of this format and version.
    init?(_ bytes: UnsafeRawBufferPointer, as format: DerivedFileFormat) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: format.magic.utf8) else { return nil }
        let header = Data(bytes[..<Self.byteCount])
        let digest = SHA256.hash(header.prefix(Self.digestOffset))
        guard header[Self.digestOffset...] == digest.prefix(Self.byteCount - Self.digestOffset) else { return nil }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
        func id(_ offset: Int) -> UUID { UUID(uuid: bytes.loadUnaligned(fromByteOffset: offset, as: uuid_t.self)) }
        guard number(8, UInt32.self) == format.version, let count = Int(exactly: number(16, UInt64.self)),
            let total = Int(exactly: number(24, UInt64.self))
        else { return nil }
        shape = DerivedFileShape(width: Int(number(12, UInt32.self)), count: count, total: total)
        revision = CatalogRevision(number: number(32, Int64.self), token: id(40))
        catalogID = id(56)
        modelDigest = Data(header[72..<104])
        contentDigest = Data(header[104..<136])
    }
}

extension Data {
    /// Bytes from hexadecimal digits; an invalid pair is zero.
    init(hexadecimal text: String) {
        self.init(capacity: text.utf8.count / 2)
        var digits = text[...]
        while digits.count >= 2 {
            append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
    }
}
