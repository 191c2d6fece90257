import Foundation

/// PNG files put together chunk by chunk (PNG specification, section 5).
enum PNGFile {
    static func chunk(_ type: String, _ data: Data) -> Data {
        let body = Data(type.utf8) + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(checksum(body))
    }

    /// A file with 8 bits per sample that ends where its pixels begin.
    static func header(width: UInt32, height: UInt32, colorType: UInt8) -> Data {
        Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            + chunk("IHDR", bigEndian(width) + bigEndian(height) + Data([8, colorType, 0, 0, 0]))
            + chunk("IDAT", Data([0x78, 0x01]))
    }

    /// A file with 8 bits per sample. The rows, each behind the number of its filter, are stored without compression.
    static func file(width: Int, height: Int, colorType: UInt8, rows: Data) -> Data {
        var stream = Data([0x78, 0x01])
        for start in stride(from: 0, to: rows.count, by: 65_535) {
            let part = rows.dropFirst(start).prefix(65_535)
            let (low, high) = (UInt8(part.count & 0xFF), UInt8(part.count >> 8))
            stream += Data([start + part.count == rows.count ? 1 : 0, low, high, ~low, ~high]) + part
        }
        var (low, high) = (1, 0)
        for byte in rows {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let header = header(width: UInt32(width), height: UInt32(height), colorType: colorType).prefix(33)
        return header + chunk("IDAT", stream + bigEndian(UInt32(high << 16 | low))) + chunk("IEND", Data())
    }

    /// Puts chunks between the header, which ends after 33 bytes, and what follows it.
    static func inserting(_ chunks: Data, in file: Data) -> Data { file.prefix(33) + chunks + file.dropFirst(33) }

    /// A zlib stream of one byte repeated: a literal and matches of 258 bytes with fixed Huffman codes
    /// (RFC 1951, section 3.2.6). `count` - 1 is rounded down to a multiple of 258.
    static func deflated(repeating byte: UInt8, count: Int) -> Data {
        precondition(byte < 144, "other literals have nine bits")
        var bytes: [UInt8] = [0x78, 0x9C]
        var (buffer, filled) = (UInt32(0), UInt32(0))
        // Bits fill bytes from the lowest; Huffman codes begin with their highest bit.
        func put(_ value: UInt32, _ count: Int) {
            for bit in 0..<count {
                buffer |= (value >> UInt32(bit) & 1) << filled
                filled += 1
                if filled == 8 {
                    bytes.append(UInt8(buffer))
                    (buffer, filled) = (0, 0)
                }
            }
        }
        func putCode(_ code: UInt32, _ count: Int) {
            for bit in stride(from: count - 1, through: 0, by: -1) { put(code >> UInt32(bit) & 1, 1) }
        }
        put(1, 1)
        put(1, 2)
        putCode(0x30 + UInt32(byte), 8)
        let matches = (count - 1) / 258
        for _ in 0..<matches {
            // Length 258 is symbol 285, distance 1 is symbol 0.
            putCode(0xC5, 8)
            putCode(0, 5)
        }
        putCode(0, 7)
        while filled != 0 { put(0, 1) }
        // Adler-32 (RFC 1950, section 8.2).
        var (low, high) = (1, 0)
        for _ in 0..<(1 + matches * 258) {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return Data(bytes) + bigEndian(UInt32(high << 16 | low))
    }

    static func bigEndian(_ value: UInt32) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }

    /// CRC-32 (PNG specification, annex D).
    private static func checksum(_ data: Data) -> UInt32 {
        ~data.reduce(~0) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ crc >> 8 }
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
}
