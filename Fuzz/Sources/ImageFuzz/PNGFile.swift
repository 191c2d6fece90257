import Foundation

/// A PNG file with damage that its checksums do not give away.
enum PNGFile {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The file with the right checksum after each chunk; any other file as it is.
    static func withChecksums(_ file: Data) -> Data {
        var bytes = [UInt8](file)
        guard bytes.starts(with: signature) else { return file }
        var start = signature.count
        while start + 12 <= bytes.count {
            let length = bytes[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
            let end = start + 8 + length
            guard end + 4 <= bytes.count else { break }
            let checksum = crc32(bytes[(start + 4)..<end])
            for index in 0..<4 { bytes[end + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(24 - 8 * index)) }
            start = end + 4
        }
        return Data(bytes)
    }

    /// As in annex D of the PNG specification.
    private static func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { sum, byte in table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8 }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ value >> 1 }
    }
}
