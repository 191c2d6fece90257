import Imaging
import Synchronization
import Testing

struct PixelBufferTests {
    @Test func refusesShapesThatDoNotFit() {
        let bytes = [UInt8](repeating: 0, count: 100)
        #expect(throws: PixelBufferError.emptyShape(width: 0, height: 3)) {
            try PixelBuffer(bytes, width: 0, height: 3, format: .gray8)
        }
        #expect(throws: PixelBufferError.emptyShape(width: 3, height: -1)) {
            try PixelBuffer(bytes, width: 3, height: -1, format: .gray8)
        }
        #expect(throws: PixelBufferError.rowTooShort(bytesPerRow: 11, width: 4, format: .rgb8)) {
            try PixelBuffer(bytes, width: 4, height: 2, bytesPerRow: 11, format: .rgb8)
        }
        #expect(throws: PixelBufferError.tooFewBytes(needed: 104, given: 100)) {
            try PixelBuffer(bytes, width: 26, height: 1, format: .bgra8)
        }
        #expect(throws: PixelBufferError.self) { try PixelBuffer(bytes, width: .max, height: 2, format: .bgra8) }
        #expect(throws: PixelBufferError.self) {
            try PixelBuffer(bytes, width: 1, height: .max, bytesPerRow: .max, format: .gray8)
        }
        // The last row needs no gap behind it.
        #expect(throws: Never.self) { try PixelBuffer(bytes, width: 10, height: 5, bytesPerRow: 22, format: .gray8) }
    }

    @Test func wrapsWithoutACopyAndGivesTheMemoryBack() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 9)
        final class Counter: Sendable { let value = Atomic<Int>(0) }
        let released = Counter()
        var image: PixelBuffer? = try PixelBuffer(
            wrapping: UnsafeRawBufferPointer(memory), width: 4, height: 4, format: .bgra8,
            release: { released.value.add(1, ordering: .relaxed) })
        #expect(image?.withUnsafeBytes { $0.baseAddress } == UnsafeRawPointer(memory.baseAddress))
        var part: PixelBuffer? = try image?.cropped(to: PixelRegion(x: 1, y: 2, width: 2, height: 1))
        image = nil
        #expect(released.value.load(ordering: .relaxed) == 0, "the part still uses the memory")
        #expect(part?.withUnsafeBytes { $0.baseAddress } == UnsafeRawPointer(memory.baseAddress! + 2 * 16 + 4))
        part = nil
        #expect(released.value.load(ordering: .relaxed) == 1)
    }

    @Test func aNegativeHasTheOppositeLuma() throws {
        let colors: [[UInt8]] = [[255, 255, 255], [0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 99, 50]]
        let image = try PixelBuffer(colors.flatMap(\.self), width: 3, height: 2, format: .rgb8)
        let negative = image.negative(longSide: 1_024)
        #expect((negative.width, negative.height, negative.format) == (3, 2, .gray8))
        // The weights of Rec. 601.
        let expected = colors.map { 255 - (0.299 * Double($0[0]) + 0.587 * Double($0[1]) + 0.114 * Double($0[2])) }
        for (byte, value) in zip(negative.withUnsafeBytes { Array($0) }, expected) {
            #expect(abs(Double(byte) - value) <= 0.51)
        }
        let small = try PixelBuffer([UInt8](repeating: 40, count: 600), width: 60, height: 10, format: .gray8)
            .negative(longSide: 12)
        #expect((small.width, small.height) == (12, 2))
        #expect(small.withUnsafeBytes { $0.allSatisfy { $0 == 215 } })
    }

    @Test func cropsOnlyInside() throws {
        let image = try PixelBuffer([UInt8](repeating: 0, count: 12), width: 4, height: 3, format: .gray8)
        for region in [
            PixelRegion(x: -1, y: 0, width: 2, height: 2), PixelRegion(x: 3, y: 0, width: 2, height: 1),
            PixelRegion(x: 0, y: 3, width: 1, height: 1), PixelRegion(x: 0, y: 0, width: 0, height: 1),
            PixelRegion(x: 0, y: 0, width: .max, height: 1),
        ] { #expect(throws: PixelBufferError.self) { try image.cropped(to: region) } }
        let tiny = image.centerCrop(0.01)
        #expect((tiny.width, tiny.height) == (1, 1))
    }
}
