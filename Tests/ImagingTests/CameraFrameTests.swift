import Foundation
import Imaging
import TestSupport
import Testing

struct CameraFrameTests {
    /// The definition, in double precision: chroma and luma to 0...1, then the inverse of the weights.
    private static func rgb(_ y: UInt8, _ cb: UInt8, _ cr: UInt8, _ encoding: YCbCrEncoding) -> [Double] {
        let (red, blue): (Double, Double) =
            switch encoding.matrix {
            case .bt601: (0.299, 0.114)
            case .bt709: (0.2126, 0.0722)
            case .bt2020: (0.2627, 0.0593)
            }
        let isVideo = encoding.range == .video
        let luma = isVideo ? (Double(y) - 16) / 219 : Double(y) / 255
        let (u, v) = ((Double(cb) - 128) / (isVideo ? 224 : 255), (Double(cr) - 128) / (isVideo ? 224 : 255))
        let r = luma + 2 * (1 - red) * v
        let b = luma + 2 * (1 - blue) * u
        let g = (luma - red * r - blue * b) / (1 - red - blue)
        return [r, g, b].map { min(max($0 * 255, 0), 255) }
    }

    private static let encodings = YCbCrEncoding.Matrix.allCases.flatMap { matrix in
        YCbCrEncoding.Range.allCases.map { YCbCrEncoding(matrix: matrix, range: $0) }
    }

    /// Odd sizes, padded rows, and the same picture in both layouts.
    @Test(arguments: encodings) func convertsByTheDefinition(encoding: YCbCrEncoding) throws {
        var random = SeededGenerator(seed: 3)
        let (width, height) = (37, 21)
        let (chromaWidth, chromaHeight) = (19, 11)
        let luma = random.bytes(40 * height)
        let cb = random.bytes(24 * chromaHeight)
        let cr = random.bytes(20 * chromaHeight)
        var pairs = [UInt8](repeating: 9, count: 48 * chromaHeight)
        for y in 0..<chromaHeight {
            for x in 0..<chromaWidth {
                (pairs[y * 48 + 2 * x], pairs[y * 48 + 2 * x + 1]) = (cb[y * 24 + x], cr[y * 20 + x])
            }
        }
        let planar = try PixelBuffer(
            i420: PixelPlane(luma, bytesPerRow: 40), cb: PixelPlane(cb, bytesPerRow: 24),
            cr: PixelPlane(Data(cr), bytesPerRow: 20), width: width, height: height, encoding: encoding)
        let biplanar = try PixelBuffer(
            nv12: PixelPlane(Data(luma), bytesPerRow: 40), chroma: PixelPlane(pairs, bytesPerRow: 48), width: width,
            height: height, encoding: encoding)
        for image in [planar, biplanar] {
            #expect((image.width, image.height) == (width, height) && image.alpha == .ignored)
            image.withUnsafeBytes { bytes in
                for y in 0..<height {
                    for x in 0..<width {
                        let expected = Self.rgb(
                            luma[y * 40 + x], cb[y / 2 * 24 + x / 2], cr[y / 2 * 20 + x / 2], encoding)
                        for channel in 0..<3 {
                            let byte = Double(bytes[y * image.bytesPerRow + 4 * x + channel])
                            #expect(abs(byte - expected[channel]) <= 0.51, "\(x), \(y): \(byte) for \(expected)")
                        }
                    }
                }
            }
        }
    }

    @Test func planesThatAreTooSmallAreNamed() {
        func plane(_ count: Int, _ bytesPerRow: Int? = nil) -> PixelPlane {
            PixelPlane([UInt8](repeating: 0, count: count), bytesPerRow: bytesPerRow)
        }
        #expect(throws: PixelBufferError.planeTooSmall("luma", needed: 16, given: 15)) {
            try PixelBuffer(nv12: plane(15), chroma: plane(8), width: 4, height: 4)
        }
        #expect(throws: PixelBufferError.planeTooSmall("chroma", needed: 8, given: 7)) {
            try PixelBuffer(nv12: plane(16), chroma: plane(7), width: 4, height: 4)
        }
        #expect(throws: PixelBufferError.planeTooSmall("Cb", needed: 4, given: 3)) {
            try PixelBuffer(i420: plane(16), cb: plane(3), cr: plane(4), width: 4, height: 4)
        }
        #expect(throws: PixelBufferError.planeTooSmall("Cr", needed: 2, given: 1)) {
            try PixelBuffer(i420: plane(16), cb: plane(4), cr: plane(8, 1), width: 4, height: 4)
        }
        // The largest sizes are refused before memory is taken.
        #expect(throws: PixelBufferError.self) {
            try PixelBuffer(nv12: plane(16), chroma: plane(8), width: 1 << 30, height: 1 << 29)
        }
        #expect(throws: PixelBufferError.tooFewBytes(needed: nil, given: 0)) {
            try PixelBuffer(nv12: plane(16), chroma: plane(8), width: .max, height: .max)
        }
        #expect(throws: PixelBufferError.emptyShape(width: 0, height: 4)) {
            try PixelBuffer(nv12: plane(16), chroma: plane(8), width: 0, height: 4)
        }
        #expect(throws: PixelBufferError.planeTooSmall("pixels", needed: 32, given: 31)) {
            try PixelBuffer(converting: plane(31), from: .rgba16, width: 2, height: 2)
        }
    }
}

struct DeepPixelTests {
    private static func bytes<Value>(_ values: some Sequence<Value>) -> [UInt8] {
        values.flatMap { value -> [UInt8] in withUnsafeBytes(of: value) { Array($0) } }
    }

    @Test func componentsAreRoundedToEightBits() throws {
        let values: [UInt16] = [0, 128, 129, 257 * 7, 257 * 7 + 128, 257 * 7 + 129, 65_535, 32_768]
        // A row with padding, and one without.
        let bytes = Self.bytes(values[..<4]) + [0xFF, 0xFF] + Self.bytes(values[4...])
        let image = try PixelBuffer(
            converting: PixelPlane(bytes, bytesPerRow: 10), from: .rgba16, width: 1, height: 2, alpha: .straight)
        #expect(image.withUnsafeBytes { Array($0) } == values.map { UInt8((Double($0) / 257).rounded()) })
        #expect(image.format == .rgba8 && image.alpha == .straight)
    }

    @Test func floatsOutsideAreClipped() throws {
        let values: [Float] = [0, 0.5 / 255, 0.49 / 255, 1, 1.5, -1, .nan, .infinity]
        let image = try PixelBuffer(
            converting: PixelPlane(Self.bytes(values)), from: .rgbaFloat, width: 2, height: 1)
        #expect(image.withUnsafeBytes { Array($0) } == [0, 1, 0, 255, 255, 0, 0, 255])
    }
}

struct WrappedMemoryTests {
    @Test func dataAndArraysAreTheSamePixels() throws {
        var random = SeededGenerator(seed: 8)
        let bytes = random.bytes(12 * 9 * 4)
        // A slice, whose first index is not 0.
        let data = (Data([1, 2, 3]) + Data(bytes)).dropFirst(3)
        let region = PixelRegion(x: 2, y: 3, width: 7, height: 5)
        let images = try [
            PixelBuffer(wrapping: data, width: 12, height: 9, format: .rgba8),
            PixelBuffer(wrapping: bytes, width: 12, height: 9, format: .rgba8),
            PixelBuffer(bytes, width: 12, height: 9, format: .rgba8),
        ]
        let resizer = Resizer(width: 5, height: 4)
        for image in images {
            #expect(image.withUnsafeBytes { Array($0) } == bytes)
            #expect(try resizer.resize(image.cropped(to: region)) == resizer.resize(images[2].cropped(to: region)))
            // A crop of a crop.
            let inner = try image.cropped(to: region).cropped(to: PixelRegion(x: 1, y: 1, width: 2, height: 2))
            #expect(inner.withUnsafeBytes { $0[0] } == bytes[(4 * 12 + 3) * 4])
        }
        #expect(throws: PixelBufferError.tooFewBytes(needed: 480, given: 432)) {
            try PixelBuffer(wrapping: data, width: 12, height: 10, format: .rgba8)
        }
    }
}
