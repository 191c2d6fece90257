#if LK_HEIF
import CImageCodecs
import TestSupport
import Testing

/// Sequence parameter sets written here, bit by bit; ITU-T H.265, section 7.3.2.2.
struct HEVCPictureBytesTests {
    private struct BitWriter {
        private(set) var bits: [Bool] = []

        mutating func write(_ value: UInt64, _ count: Int) {
            for shift in stride(from: count - 1, through: 0, by: -1) { bits.append(value >> shift & 1 == 1) }
        }

        /// An Exp-Golomb code.
        mutating func writeCode(_ value: UInt64) {
            let length = UInt64.bitWidth - (value + 1).leadingZeroBitCount
            write(0, length - 1)
            write(value + 1, length)
        }

        /// The unit with the bytes that keep start codes out of it; section 7.4.2.
        var unit: [UInt8] {
            var bytes: [UInt8] = []
            for start in stride(from: 0, to: bits.count, by: 8) {
                let byte = (0..<8).reduce(UInt8(0)) {
                    $0 << 1 | (start + $1 < bits.count && bits[start + $1] ? 1 : 0)
                }
                if byte <= 3, bytes.suffix(2) == [0, 0] { bytes.append(3) }
                bytes.append(byte)
            }
            return bytes
        }
    }

    private static func parameterSet(
        width: UInt64, height: UInt64, chroma: UInt64 = 1, depth: UInt64 = 8, type: UInt64 = 33, layer: UInt64 = 0,
        using random: inout SeededGenerator
    ) -> [UInt8] {
        var writer = BitWriter()
        writer.write(type, 7)
        writer.write(layer, 6)
        writer.write(1, 3)
        let subLayers = UInt64.random(in: 0...6, using: &random)
        writer.write(.random(in: 0...15, using: &random), 4)
        writer.write(subLayers, 3)
        writer.write(1, 1)
        // Zeros are frequent in profiles.
        func writeProfile(bits: Int) {
            for _ in 0..<bits / 8 {
                writer.write(Bool.random(using: &random) ? 0 : .random(in: 0...255, using: &random), 8)
            }
        }
        writeProfile(bits: 96)
        let has = (0..<subLayers).map { _ in
            (profile: Bool.random(using: &random), level: Bool.random(using: &random))
        }
        for layer in has { writer.write((layer.profile ? 2 : 0) + (layer.level ? 1 : 0), 2) }
        if subLayers > 0 { writer.write(0, 2 * Int(8 - subLayers)) }
        for layer in has { writeProfile(bits: (layer.profile ? 88 : 0) + (layer.level ? 8 : 0)) }
        writer.writeCode(.random(in: 0...15, using: &random))
        writer.writeCode(chroma)
        if chroma == 3 { writer.write(.random(in: 0...1, using: &random), 1) }
        writer.writeCode(width)
        writer.writeCode(height)
        let isCropped = Bool.random(using: &random)
        writer.write(isCropped ? 1 : 0, 1)
        for _ in 0..<(isCropped ? 4 : 0) { writer.writeCode(.random(in: 0...9, using: &random)) }
        writer.writeCode(depth - 8)
        writer.writeCode(depth - 8)
        writer.write(.random(in: 0...255, using: &random), 9)
        return writer.unit
    }

    /// Small ones as often as large ones.
    private static func side(using random: inout SeededGenerator) -> UInt64 {
        UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64.random(in: 35...63, using: &random)
    }

    private static func bytes(_ unit: [UInt8]) -> UInt64? {
        var bytes: UInt64 = .max
        return lk_hevc_picture_bytes(unit, unit.count, &bytes) ? bytes : nil
    }

    @Test func sizesAreRead() {
        var random = SeededGenerator(seed: 71)
        for _ in 0..<500 {
            let (width, height) = (2 * Self.side(using: &random), 2 * Self.side(using: &random))
            let chroma = UInt64.random(in: 0...3, using: &random)
            let depth = UInt64.random(in: 8...16, using: &random)
            let unit = Self.parameterSet(
                width: width, height: height, chroma: chroma, depth: depth, using: &random)
            let luma = width * height
            let samples = luma + [0, luma / 2, luma, 2 * luma][Int(chroma)]
            #expect(Self.bytes(unit) == samples * (depth > 8 ? 2 : 1), "\(unit)")
        }
    }

    /// The size is at the end, with at most a window, two depths and padding behind it.
    @Test func whatEndsTooEarlyIsRefused() {
        var random = SeededGenerator(seed: 72)
        for _ in 0..<50 {
            let unit = Self.parameterSet(width: 1 << 20, height: 1 << 20, using: &random)
            for count in 2..<unit.count - 2 { #expect(Self.bytes(Array(unit.prefix(count))) == nil) }
        }
    }

    @Test func whatIsOutOfRangeIsRefusedOrHasNoLimit() {
        var random = SeededGenerator(seed: 74)
        #expect(Self.bytes(Self.parameterSet(width: 9, height: 9, chroma: 4, using: &random)) == nil)
        #expect(Self.bytes(Self.parameterSet(width: 9, height: 9, depth: 17, using: &random)) == nil)
        let largest = UInt64(UInt32.max)
        #expect(Self.bytes(Self.parameterSet(width: largest, height: largest, using: &random)) == .max)
    }

    @Test func otherUnitsAndLayersHaveNoSize() {
        var random = SeededGenerator(seed: 73)
        #expect(Self.bytes(Self.parameterSet(width: 99, height: 99, type: 32, using: &random)) == 0)
        #expect(Self.bytes(Self.parameterSet(width: 99, height: 99, layer: 1, using: &random)) == 0)
        #expect(Self.bytes([]) == 0)
    }
}
#endif
