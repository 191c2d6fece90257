import Foundation

/// A tar archive with damage that its checksums do not give away.
enum TarArchive {
    private static let block = 512

    /// The archive with the right checksum in the header of each file.
    static func withChecksums(_ archive: Data) -> Data {
        var bytes = [UInt8](archive)
        var start = 0
        while start + block <= bytes.count, !bytes[start..<(start + block)].allSatisfy({ $0 == 0 }) {
            let checksum = (start + 148)..<(start + 156)
            for place in checksum { bytes[place] = UInt8(ascii: " ") }
            let sum = bytes[start..<(start + block)].reduce(0) { $0 + Int($1) }
            let digits = String(sum, radix: 8)
            bytes.replaceSubrange(
                checksum, with: Array((String(repeating: "0", count: 6 - digits.count) + digits + "\0 ").utf8))
            let size = Int(String(decoding: bytes[(start + 124)..<(start + 135)], as: UTF8.self), radix: 8) ?? 0
            guard (0...bytes.count).contains(size) else { break }
            start += block + (size + block - 1) / block * block
        }
        return Data(bytes)
    }
}
