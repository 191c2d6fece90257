import Foundation
import Lookalike
import SeededNumbers

/// A catalog of generated images and of prints from a formula.
enum BenchmarkCatalog {
    private static let imageCount = 64

    static func make(at url: URL, entities: Int) async throws -> Catalog {
        let indexer = try CatalogIndexer(at: url, thumbnailSide: nil)
        let model = indexer.model
        var items: [IndexItem] = []
        for index in 0..<entities {
            let entity = CatalogEntity(id: "e\(index)")
            items.append(
                index < imageCount
                    ? IndexItem(entity, image: .pixels(shapes(seed: UInt64(index), side: 320)))
                    : IndexItem(entity, image: .print(print(UInt64(index), model: model))))
        }
        _ = try await indexer.run(over: items).report()
        return try Catalog(at: url)
    }

    /// Images of which half are in the catalog.
    static let queries = (0..<16).map { shapes(seed: UInt64($0 * 8), side: 640) }

    private static func print(_ seed: UInt64, model: FeaturePrintModel) -> FeaturePrint {
        var random = SplitMix64(state: seed)
        let values = (0..<model.dimension).map { _ in Float(random.next() >> 40) * 0x1p-23 - 1 }
        let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return FeaturePrint(vector: values.map { $0 / norm }, model: model.identity)
    }

    /// Rectangles of many sizes.
    private static func shapes(seed: UInt64, side: Int) -> PixelBuffer {
        var random = SplitMix64(state: seed &+ 1)
        var bytes = [UInt8](repeating: 200, count: side * side * 3)
        for index in 0..<140 {
            let size = max(6, side / 4 - index * side / 600)
            let (left, top) = (Int(random.next() % UInt64(side)), Int(random.next() % UInt64(side)))
            let color = random.next()
            for y in top..<min(side, top + size) {
                for x in left..<min(side, left + size) {
                    for c in 0..<3 { bytes[(y * side + x) * 3 + c] = UInt8(truncatingIfNeeded: color >> (8 * c)) }
                }
            }
        }
        guard let image = try? PixelBuffer(bytes, width: side, height: side, format: .rgb8) else {
            preconditionFailure("\(bytes.count) bytes are an image of \(side)×\(side)")
        }
        return image
    }
}
