import Compute
import Foundation

/// The file `prints.matrix`: the prints of a catalog as rows of a matrix, to be mapped into memory.
///
/// Derived from the database. All numbers are little-endian:
///
///     offset  bytes
///          0      8  "LKPRINTS"
///          8      4  version of this format, 2
///         12      4  dimension of a print
///         16      8  rows
///         24      8  revision of the database that it was built from
///         32     16  the catalog's UUID
///         48     32  SHA-256 of the model
///         80     32  SHA-256 of everything after the header
///        112     16  the first half of the SHA-256 of the 112 bytes before
///        128         float32 rows; float32 squared norms; the entities' rows in the database,
///                    64-bit integers; int8 rows with their float32 scales and float32 residual
///                    norms (`QuantizedRows`); each section starts at a multiple of 64
struct PrintMatrixHeader: Equatable {
    static let magic = Data("LKPRINTS".utf8)
    static let version: UInt32 = 2
    static let byteCount = 128

    var dimension: Int
    var rowCount: Int
    var revision: Int64
    var catalogID: UUID
    var modelDigest: Data
    var contentDigest: Data

    private static func aligned(_ offset: Int) -> Int { (offset + 63) / 64 * 64 }

    var rowsOffset: Int { Self.byteCount }
    var normsOffset: Int { Self.aligned(rowsOffset + rowCount * dimension * 4) }
    var keysOffset: Int { Self.aligned(normsOffset + rowCount * 4) }
    var codesOffset: Int { Self.aligned(keysOffset + rowCount * 8) }
    var scalesOffset: Int { Self.aligned(codesOffset + rowCount * dimension) }
    var residualNormsOffset: Int { Self.aligned(scalesOffset + rowCount * 4) }
    var fileByteCount: Int { residualNormsOffset + rowCount * 4 }

    var encoded: Data {
        var data = Self.magic
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
        }
        append(Self.version)
        append(UInt32(dimension))
        append(UInt64(rowCount))
        append(revision)
        withUnsafeBytes(of: catalogID.uuid) { data.append(contentsOf: $0) }
        data.append(modelDigest)
        data.append(contentDigest)
        data.append(contentsOf: SHA256.hash(data).prefix(16))
        return data
    }

    init(dimension: Int, rowCount: Int, revision: Int64, catalogID: UUID, modelDigest: Data, contentDigest: Data) {
        self.dimension = dimension
        self.rowCount = rowCount
        self.revision = revision
        self.catalogID = catalogID
        self.modelDigest = modelDigest
        self.contentDigest = contentDigest
    }

    /// Nil if the bytes are not an intact header of this version.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Self.magic) else { return nil }
        let header = Data(bytes[..<Self.byteCount])
        guard header.suffix(16) == SHA256.hash(header.prefix(112)).prefix(16) else { return nil }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
        guard number(8, UInt32.self) == Self.version else { return nil }
        dimension = Int(number(12, UInt32.self))
        let rows = number(16, UInt64.self)
        // No file that can be mapped has more.
        guard dimension > 0, rows < 1 << 40 else { return nil }
        rowCount = Int(rows)
        revision = number(24, Int64.self)
        catalogID = UUID(uuid: bytes.loadUnaligned(fromByteOffset: 32, as: uuid_t.self))
        modelDigest = header[48..<80]
        contentDigest = header[80..<112]
    }
}
