import Catalogs
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// The size that queries are decoded at.
struct QueryDecodingTests {
    /// A photograph of 1920×1440: at 1/8 it has 240×180 pixels, at 1/4 480×360, at 1/2 960×720.
    @Test func aQueryIsDecodedAsLargeAsItsEffortNeeds() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (small, _) = CoverFixture.photograph(of: 2, degrees: 0)
        let photo = try Resizer(width: 1920, height: 1440).resizedPixels(of: small).jpegData()

        // 1.5 times the network's input of 160×160 pixels; 1.5 times the 512 pixels of the local features' plane.
        for (effort, width) in [(SearchEffort.prints, 480), (.standard, 1920)] {
            let image = try PixelBuffer(decoding: photo, options: catalog.decodingOptions(for: effort))
            #expect(image.width == width, "\(effort)")
            let matches = try await catalog.search(
                matching: image, options: SearchOptions(bounds: .none, effort: effort))
            #expect(matches.first?.entity.id == "c2", "\(effort)")
        }
        #expect(
            try PixelBuffer(decoding: photo, options: catalog.decodingOptions).width == 1920,
            "without an effort, like standard")
    }

    /// Its long side alone decided how far it was reduced, to 100 columns.
    @Test func aNarrowQueryKeepsTheColumnsThatTheNetworkSees() async throws {
        let fixture = try CoverFixture(count: 1)
        let catalog = try Catalog(at: fixture.catalog)
        let image = Resizer(width: 400, height: 5_000).resizedPixels(of: SampleImage.blocks(seed: 5))
        let expected = try catalog.model.featurePrint(for: image)
        let distances = try await catalog.query(for: image).prints.map { try $0.distance(to: expected) }
        #expect(distances.min() ?? 2 < 1e-3, "\(distances)")
    }
}
