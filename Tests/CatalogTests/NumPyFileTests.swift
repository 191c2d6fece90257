import Catalogs
import Foundation
import Testing

struct NumPyFileTests {
    @Test func isLaidOutAsTheFormatSays() {
        let data = NumPyFile.data([[1, 2.5], [-3, 0]], columns: 2)
        #expect(data.prefix(8) == Data([0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59, 1, 0]))
        let length = Int(data[8]) + Int(data[9]) << 8
        #expect((10 + length) % 64 == 0 && data.count == 10 + length + 16)
        let header = String(decoding: data[10..<(10 + length)], as: UTF8.self)
        #expect(
            header.hasPrefix("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }") && header.hasSuffix("\n"))
        let floats = data.suffix(16).withUnsafeBytes { bytes in
            (0..<4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
        #expect(floats == [1, 2.5, -3, 0])
    }
}
