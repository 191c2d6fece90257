#if HEIF
    import CImageCodecs
    import TestSupport
    import Testing

    /// Sequence parameter sets written here, bit by bit; ITU-T H.265, section 7.3.2.2.
    struct HEVCPictureSizeTests {
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

            /// With the bytes that keep start codes out of a NAL unit; section 7.4.2.
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
            width: UInt64, height: UInt64, type: UInt64 = 33, layer: UInt64 = 0, using random: inout SeededGenerator
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
            let chroma = UInt64.random(in: 0...3, using: &random)
            writer.writeCode(chroma)
            if chroma == 3 { writer.write(.random(in: 0...1, using: &random), 1) }
            writer.writeCode(width)
            writer.writeCode(height)
            writer.write(.random(in: 0...255, using: &random), 9)
            return writer.unit
        }

        /// Small ones as often as large ones.
        private static func side(using random: inout SeededGenerator) -> UInt64 {
            UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64.random(in: 33...63, using: &random)
        }

        private static func pixels(_ unit: [UInt8]) -> UInt64? {
            var pixels: UInt64 = .max
            return lk_hevc_picture_size(unit, unit.count, &pixels) ? pixels : nil
        }

        @Test func sizesAreRead() {
            var random = SeededGenerator(seed: 71)
            for _ in 0..<500 {
                let width = Self.side(using: &random)
                let height = Self.side(using: &random)
                let unit = Self.parameterSet(width: width, height: height, using: &random)
                #expect(Self.pixels(unit) == width * height, "\(unit)")
            }
        }

        /// All are too short: the size is at the end, before two bytes at most.
        @Test func whatEndsTooEarlyIsRefused() {
            var random = SeededGenerator(seed: 72)
            for _ in 0..<50 {
                let unit = Self.parameterSet(width: 1 << 20, height: 1 << 20, using: &random)
                for count in 2..<unit.count - 4 { #expect(Self.pixels(Array(unit.prefix(count))) == nil) }
            }
        }

        @Test func otherUnitsAndLayersHaveNoSize() {
            var random = SeededGenerator(seed: 73)
            #expect(Self.pixels(Self.parameterSet(width: 99, height: 99, type: 32, using: &random)) == 0)
            #expect(Self.pixels(Self.parameterSet(width: 99, height: 99, layer: 1, using: &random)) == 0)
            #expect(Self.pixels([]) == 0)
        }
    }
#endif
