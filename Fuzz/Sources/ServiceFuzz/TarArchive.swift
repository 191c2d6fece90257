import Digests
import Foundation
import FuzzSupport

/// A tar archive with damage that its checksums do not give away.
enum TarArchive {
    private static let block = 512

    /// An archive of files, with the digest of each.
    static func make(_ files: [String: Data]) -> Data {
        var archive = Data()
        func add(_ name: String, _ content: Data) {
            var header = Data(count: block)
            func put(_ text: String, at offset: Int) {
                header.replaceSubrange(offset..<(offset + text.utf8.count), with: Data(text.utf8))
            }
            let size = String(content.count, radix: 8)
            put(name, at: 0)
            put(String(repeating: "0", count: 11 - size.count) + size, at: 124)
            put("0ustar", at: 156)
            archive += header + content + Data(count: (block - content.count % block) % block)
        }
        var sums = ""
        for (name, content) in files.sorted(by: { $0.key < $1.key }) {
            add(name, content)
            let digest = SHA256.hash(content).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            sums += "\(digest)  \(name)\n"
        }
        add("SHA256SUMS", Data(sums.utf8))
        return withChecksums(archive + Data(count: 2 * block))
    }

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
