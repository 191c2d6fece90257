import Compute
import Foundation

/// The file `features.lists`: the local features of a catalog by visual word, mapped into memory.
///
/// Derived from the database. All numbers are little-endian:
///
///     offset  bytes
///          0      8  "LKLISTS\0"
///          8      4  version of this format, 1
///         12      4  visual words
///         16      8  entities
///         24      8  features
///         32      8  revision of the database
///         40     16  the catalog's UUID
///         56     32  SHA-256 of the local-feature model
///         88     32  SHA-256 of everything after the header
///        120     16  the first half of the SHA-256 of the 120 bytes before
///        136         zeros
///        192         the entities' row numbers in the database, 64-bit; the number of features of each, 16-bit; where
///                    the list of each word starts, and the end of the last, 64-bit; the signatures, 64-bit; the
///                    position of each signature's entity, 32-bit; each section starts at a multiple of 64
struct InvertedListsHeader: Equatable {
    private static let magic = Data("LKLISTS\0".utf8)
    private static let version: UInt32 = 1
    private static let digestOffset = 120
    static let byteCount = 192

    var wordCount: Int
    var entityCount: Int
    var featureCount: Int
    var revision: Int64
    var catalogID: UUID
    var modelDigest: Data
    var contentDigest: Data

    private static func aligned(_ offset: Int) -> Int { (offset + 63) / 64 * 64 }

    var keysOffset: Int { Self.byteCount }
    var featureCountsOffset: Int { Self.aligned(keysOffset + entityCount * 8) }
    var listOffsetsOffset: Int { Self.aligned(featureCountsOffset + entityCount * 2) }
    var signaturesOffset: Int { Self.aligned(listOffsetsOffset + (wordCount + 1) * 8) }
    var entitiesOffset: Int { Self.aligned(signaturesOffset + featureCount * 8) }
    var fileByteCount: Int { entitiesOffset + featureCount * 4 }

    init(
        wordCount: Int, entityCount: Int, featureCount: Int, revision: Int64, catalogID: UUID, modelDigest: Data,
        contentDigest: Data
    ) {
        self.wordCount = wordCount
        self.entityCount = entityCount
        self.featureCount = featureCount
        self.revision = revision
        self.catalogID = catalogID
        self.modelDigest = modelDigest
        self.contentDigest = contentDigest
    }

    var encoded: Data {
        var data = Self.magic
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
        }
        append(Self.version)
        append(UInt32(wordCount))
        append(UInt64(entityCount))
        append(UInt64(featureCount))
        append(revision)
        withUnsafeBytes(of: catalogID.uuid) { data.append(contentsOf: $0) }
        data.append(modelDigest)
        data.append(contentDigest)
        data.append(contentsOf: SHA256.hash(data).prefix(16))
        return data + Data(count: Self.byteCount - data.count)
    }

    /// Nil if the bytes are not an intact header of this version.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Self.magic) else { return nil }
        let header = Data(bytes[..<Self.byteCount])
        let end = Self.digestOffset
        guard header[end..<(end + 16)] == SHA256.hash(header.prefix(end)).prefix(16) else { return nil }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
        guard number(8, UInt32.self) == Self.version else { return nil }
        let (entities, features) = (number(16, UInt64.self), number(24, UInt64.self))
        // No file that can be mapped has more.
        guard entities < 1 << 32, features < 1 << 40 else { return nil }
        wordCount = Int(number(12, UInt32.self))
        entityCount = Int(entities)
        featureCount = Int(features)
        revision = number(32, Int64.self)
        catalogID = UUID(uuid: bytes.loadUnaligned(fromByteOffset: 40, as: uuid_t.self))
        modelDigest = header[56..<88]
        contentDigest = header[88..<120]
    }
}
