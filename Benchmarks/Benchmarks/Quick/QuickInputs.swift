import Foundation
import Lookalike

/// Inputs from a formula; their contents do not affect the time.
enum QuickInputs {
    static let dimension = 256

    static func screen() -> PixelBuffer { image(width: 5120, height: 2880, format: .bgra8) }

    static func crop() -> PixelBuffer { image(width: 192, height: 192, format: .rgb8) }

    /// Rectangles of many sizes, which have keypoints.
    static func picture(_ seed: UInt64, width: Int, height: Int) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        var bytes = [UInt8](repeating: 160, count: width * height * 3)
        for index in 0..<300 {
            let side = max(5, (width / 5) * (300 - index) / 300)
            let (left, top, color) = (next(width), next(height), (next(256), next(256), next(256)))
            for y in top..<min(height, top + side) {
                for x in left..<min(width, left + side) {
                    let at = (y * width + x) * 3
                    bytes[at] = UInt8(color.0)
                    bytes[at + 1] = UInt8(color.1)
                    bytes[at + 2] = UInt8(color.2)
                }
            }
        }
        return bytes
    }

    /// A photograph of 1024×768 of a picture of 320×320, on a ground of its own.
    static func photograph(of seed: UInt64) -> PixelBuffer {
        var bytes = picture(seed + 1_000, width: 1_024, height: 768)
        let shown = picture(seed, width: 320, height: 320)
        for y in 0..<640 {
            for x in 0..<640 {
                // Turned by a few degrees.
                let (u, v) = ((x * 15 + y * 2 - 600) / 32, (y * 15 - x * 2 + 640) / 32)
                guard (0..<320).contains(u), (0..<320).contains(v) else { continue }
                for c in 0..<3 { bytes[((y + 60) * 1_024 + x + 190) * 3 + c] = shown[(v * 320 + u) * 3 + c] }
            }
        }
        return image(bytes, width: 1_024, height: 768)
    }

    static func image(_ bytes: [UInt8], width: Int, height: Int) -> PixelBuffer {
        guard let image = try? PixelBuffer(bytes, width: width, height: height, format: .rgb8) else {
            preconditionFailure("\(bytes.count) bytes are an image of \(width)×\(height)")
        }
        return image
    }

    /// A catalog of 64 pictures, indexed anew.
    static func catalog() async throws -> Catalog {
        let folder = URL(fileURLWithPath: ".build-inputs/quick.catalog")
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(
            at: folder.deletingLastPathComponent(), withIntermediateDirectories: true)
        let indexer = try CatalogIndexer(at: folder, thumbnailSide: nil)
        let items = (0..<64).map {
            IndexItem(
                CatalogEntity(id: "\($0)"),
                image: .pixels(image(picture(UInt64($0), width: 320, height: 320), width: 320, height: 320)))
        }
        _ = try await indexer.run(over: items).report()
        return try Catalog(at: folder)
    }

    private static func image(width: Int, height: Int, format: PixelFormat) -> PixelBuffer {
        let row = width * format.bytesPerPixel
        let bytes = [UInt8](unsafeUninitializedCapacity: row * height) { buffer, count in
            for index in 0..<(row * height) { buffer[index] = UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 13) }
            count = row * height
        }
        guard let image = try? PixelBuffer(bytes, width: width, height: height, format: format, alpha: .ignored) else {
            preconditionFailure("\(bytes.count) bytes are an image of \(width)×\(height)")
        }
        return image
    }

    /// Nearly orthogonal unit vectors.
    static func rows(_ count: Int) -> [Float] {
        var state: UInt64 = 1
        var rows = [Float](repeating: 0, count: count * dimension)
        for row in 0..<count {
            var squares: Float = 0
            for index in (row * dimension)..<((row + 1) * dimension) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let value = Float(Int32(truncatingIfNeeded: state >> 32)) * 0x1p-31
                rows[index] = value
                squares += value * value
            }
            for index in (row * dimension)..<((row + 1) * dimension) { rows[index] /= squares.squareRoot() }
        }
        return rows
    }
}
