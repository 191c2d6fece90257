import CKernels
import TestSupport
import Testing

/// Against the definitions of the formats, one number at a time.
struct StoredNumberTests {
    @Test func everyHalfIsWidenedExactly() {
        let halves = (0...UInt16.max).map { $0 }
        var floats = [Float](repeating: 7, count: halves.count)
        lk_widen(halves, LK_FLOAT16, halves.count, &floats)
        for (half, float) in zip(halves, floats) {
            let expected = StoredFormat.value(ofHalf: half)
            #expect(
                expected.isNaN ? float.isNaN : float.bitPattern == expected.bitPattern || float == 0 && expected == 0)
            #expect(float.sign == (half >> 15 == 0 ? .plus : .minus))
        }
    }

    /// Between each two neighboring halves lies the float from which on the upper one is nearer.
    @Test func floatsBecomeTheNearestHalves() {
        func narrowed(_ float: Float) -> UInt16 {
            var half: UInt16 = 0
            lk_narrow([float], 1, &half)
            return half
        }
        for half in UInt16.zero..<0x7C00 {
            let (lower, next) = (StoredFormat.value(ofHalf: half), StoredFormat.value(ofHalf: half + 1))
            let middle = next.isFinite ? (lower + next) / 2 : 65_520
            #expect(narrowed(lower) == half && narrowed(-lower) == half | 0x8000)
            #expect(narrowed(middle.nextDown) == half && narrowed(middle.nextUp) == half + 1)
            #expect(narrowed(middle) == half + half % 2 && narrowed(-middle) == half + half % 2 | 0x8000)
        }
        #expect(narrowed(.infinity) == 0x7C00 && narrowed(-.greatestFiniteMagnitude) == 0xFC00)
        #expect(StoredFormat.value(ofHalf: narrowed(.nan)).isNaN)
    }

    @Test func floatsAreNarrowedOneByOne() {
        var random = SeededGenerator(seed: 85)
        for count in [0, 1, 7, 8, 33, 256] {
            let numbers = random.floats(count)
            var halves = [UInt16](repeating: 7, count: count + 1)
            lk_narrow(numbers, count, &halves)
            var floats = [Float](repeating: 0, count: count)
            lk_widen(halves, LK_FLOAT16, count, &floats)
            #expect(zip(numbers, floats).allSatisfy { abs($0 - $1) <= max(abs($0) * 0x1p-11, 0x1p-25) })
            #expect(halves[count] == 7)
        }
    }

    @Test(arguments: [LK_FLOAT32, LK_FLOAT16, LK_BFLOAT16, LK_UINT8], [0, 1, 15, 16, 17, 1000])
    func numbersNeedNotBeAligned(format: lk_number_format, count: Int) {
        var random = SeededGenerator(seed: 84)
        var numbers = random.floats(count).map { $0 * 100 }
        let bytes = [0] + StoredFormat(format).bytes(of: &numbers)
        var floats = [Float](repeating: 7, count: count + 1)
        bytes.withUnsafeBytes { lk_widen($0.baseAddress.map { $0 + 1 }, format, count, &floats) }
        #expect(Array(floats.prefix(count)) == numbers)
        #expect(floats[count] == 7)
    }

    @Test func nonFiniteHalvesAndBfloatsAreFound() {
        for code in 0...UInt16.max {
            var codes = [UInt16](repeating: 0x7BFF, count: 33)
            codes[Int(code) % codes.count] = code
            #expect(lk_are_finite(codes, LK_FLOAT16, codes.count) == StoredFormat.value(ofHalf: code).isFinite)
            codes = codes.map { $0 == code ? code : 0xFF7F }
            #expect(
                lk_are_finite(codes, LK_BFLOAT16, codes.count) == Float(bitPattern: UInt32(code) << 16).isFinite)
        }
    }

    @Test(arguments: [Float.infinity, -.infinity, .nan, .greatestFiniteMagnitude, -.leastNonzeroMagnitude])
    func nonFiniteFloatsAreFound(value: Float) {
        for place in 0..<33 {
            var floats = [Float](repeating: -.greatestFiniteMagnitude, count: 33)
            floats[place] = value
            #expect(lk_are_finite(floats, LK_FLOAT32, floats.count) == value.isFinite)
        }
    }
}
