import Foundation

/// Progressive JPEG files of one color with any number of scans (ISO/IEC 10918-1, annexes B and G).
enum ProgressiveJPEG {
    /// Each scan has the DC coefficients of all components again, all zero: a bit each. There are bits for one block.
    static func file(width: UInt16, height: UInt16, components: UInt8, scans: Int) -> Data {
        func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
            [0xFF, marker] + pair(UInt16(body.count + 2)) + body
        }
        func pair(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
        var file: [UInt8] = [0xFF, 0xD8] + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        file += segment(
            0xC2, [8] + pair(height) + pair(width) + [components] + (1...components).flatMap { [$0, 0x11, 0] })
        // The table has one code of one bit, for a difference of zero.
        file += segment(0xC4, [0, 1] + [UInt8](repeating: 0, count: 15) + [0])
        for _ in 0..<scans {
            file += segment(0xDA, [components] + (1...components).flatMap { [$0, 0] } + [0, 0, 0])
            file += [0x7F >> (components - 1)]
        }
        return Data(file + [0xFF, 0xD9])
    }
}
