import Catalogs
import Foundation
import Imaging
import TestSupport

/// A catalog of images with local features, and photographs that show some of them.
struct CoverFixture {
    let folder: TemporaryFolder
    let count: Int
    var catalog: URL { folder.file("catalog") }
    var lists: URL { catalog.appendingPathComponent("features.lists") }

    static func cover(_ index: Int) -> PixelBuffer {
        SampleImage.shapes(seed: UInt64(40 + index), width: 300, height: 260)
    }

    init(count: Int = 6, localFeatures: Bool = true) throws {
        folder = try TemporaryFolder()
        self.count = count
        for index in 0..<count { try write(Self.cover(index), as: index) }
        try index(localFeatures: localFeatures)
    }

    func write(_ image: PixelBuffer, as index: Int) throws { try folder.write(image.pngData(), to: "\(index).png") }

    @discardableResult
    func index(localFeatures: Bool = true) throws -> IndexReport {
        let rows = (0..<count).map { index in
            let type = index % 2 == 0 ? "even" : "odd"
            return #"{"id": "c\#(index)", "image": "\#(index).png", "type": "\#(type)", "labels": ["l\#(index % 3)"]}"#
        }
        let manifest = try folder.write(rows.joined(separator: "\n"), to: "manifest.jsonl")
        let (items, _) = try ImageSource.items(at: manifest)
        return try CatalogIndexer(at: catalog, localFeatures: localFeatures).index(items)
    }

    /// Covers on a cluttered background.
    static func photograph(
        _ covers: [(index: Int, scale: Double, degrees: Double, center: SIMD2<Double>)], width: Int = 640,
        height: Int = 480
    ) -> (image: PixelBuffer, placements: [Placement]) {
        var image = SampleImage.shapes(seed: 900, width: width, height: height, count: 60)
        var placements: [Placement] = []
        for cover in covers {
            let source = Self.cover(cover.index)
            let placement = Placement(of: source, scale: cover.scale, degrees: cover.degrees, center: cover.center)
            image = image.drawing(source, at: placement)
            placements.append(placement)
        }
        return (image, placements)
    }

    /// One cover, turned, in the middle of the clutter.
    static func photograph(of index: Int, degrees: Double = 35) -> (image: PixelBuffer, placement: Placement) {
        let (image, placements) = photograph([(index, 0.95, degrees, SIMD2(330, 235))])
        return (image, placements[0])
    }
}
