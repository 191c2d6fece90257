import Compute
import Foundation

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

    init(shape: DerivedFileShape, revision: CatalogRevision, catalogID: UUID, modelDigest: Data, contentDigest: Data) {
        self.shape = shape
        self.revision = revision
        self.catalogID = catalogID
        self.modelDigest = modelDigest
        self.contentDigest = contentDigest
    }

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
