import AppleShapes
import Catalogs
import Foundation
import TestSupport
import Testing
import VisualSearch

/// Queries whose entities local features verify.
struct VerifiedQueryTests {
    /// - Parameter hasSeveralImages: whether half of the entities share further images.
    private static func rows(hasSeveralImages: Bool) -> [String] {
        (0..<10).map { index in
            let images = #", "images": ["\#(10 + index % 4).png", "\#(10 + index % 3).png"]"#
            return EntityFixture.row(
                index, title: "Album \(index % 3 == 0 ? "moon" : "sun")",
                rest: #", "year": 2001"# + (hasSeveralImages && index % 2 == 0 ? images : ""))
        }
    }

    @Test(arguments: [false, true])
    func verifiedEntitiesKeepTheirPlaceOnAllPages(hasSeveralImages: Bool) async throws {
        let fixture = try EntityFixture(Self.rows(hasSeveralImages: hasSeveralImages), localFeatures: true)
        #expect(fixture.catalog.hasLocalFeatures)
        // The image is enlarged on a canvas: the prints of the whole differ.
        let image = SampleImage.blocks(seed: 4)
        let canvas = SampleImage.shapes(seed: 950, width: 300, height: 260, count: 20)
        let photograph = canvas.drawing(
            image, at: Placement(of: image, scale: 1.6, degrees: 12, center: SIMD2(150, 130)))
        for labels in [[], ["moon"]] {
            for pixels in [image, photograph] {
                let query = try await fixture.albums.query(
                    for: SemanticContentDescriptor(labels: labels, pixelBuffer: pixels), maxDistance: 2)
                let copy = try JSONDecoder().decode(SearchQuery.self, from: JSONEncoder().encode(query))
                #expect(copy == query)
                let page = try await fixture.albums.page(of: copy, count: 50)
                let ids = page.entities.map(\.id)
                #expect(ids.first == "a4" && Set(ids).count == ids.count && page.next == nil)
                #expect(page.results.map(\.score) == page.results.map(\.score).sorted(by: >))
                for size in [1, 3, 7] {
                    var paged: [String] = []
                    var part = try await fixture.albums.page(of: query, count: size)
                    while !part.results.isEmpty, paged.count < 30 {
                        paged += part.entities.map(\.id)
                        part = try await fixture.albums.page(of: query, count: size, after: part.next)
                    }
                    #expect(paged == ids, "\(labels), pages of \(size)")
                }
            }
        }
    }

    @Test func resultsSayHowSureTheyAreAndWhere() async throws {
        let fixture = try EntityFixture(Self.rows(hasSeveralImages: false), localFeatures: true)
        let image = SampleImage.blocks(seed: 4)
        let canvas = SampleImage.shapes(seed: 950, width: 300, height: 260, count: 20)
        let photograph = canvas.drawing(
            image, at: Placement(of: image, scale: 1.6, degrees: 12, center: SIMD2(150, 130)))
        // A mirrored image of few colors may be accepted for its print alone.
        for (effort, pixels, hasOutline) in [
            (SearchEffort.standard, photograph, true), (.standard, try image.mirrored(), nil), (.prints, image, false),
        ] {
            let expected = try await fixture.catalog.search(
                matching: pixels, options: SearchOptions(limit: 50, effort: effort))
            for labels in [[], ["nothing"]] {
                let found = try await fixture.albums.results(
                    matching: SemanticContentDescriptor(labels: labels, pixelBuffer: pixels), limit: 50, effort: effort)
                #expect(found.first?.entity.id == "a4" && found.map(\.entity.id) == expected.map(\.id))
                #expect(found.map(\.confidence) == expected.map(\.confidence))
                #expect(found.map(\.outline) == expected.map(\.outline))
                #expect(found.map(\.isMirrored) == expected.map(\.isMirrored))
                if let hasOutline { #expect((found.first?.outline != nil) == hasOutline) }
            }
        }
        let words = try await fixture.albums.results(matching: SemanticContentDescriptor(labels: ["moon"]))
        #expect(!words.isEmpty && words.allSatisfy { $0.confidence == nil && $0.outline == nil })
    }

    /// A list of observations accepts up to 1 what a catalog accepts: the record on the photograph, and none for one
    /// that is in no catalog.
    @Test func observationsAreVerifiedAsACatalogVerifies() async throws {
        let demo = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Examples/Demo")
        let request = GenerateImageFeaturePrintRequest()
        let covers = try FileManager.default.contentsOfDirectory(
            at: demo.appendingPathComponent("covers"), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "jpg" }
        var observations: [(name: String, print: FeaturePrintObservation)] = []
        for cover in covers {
            observations.append((cover.lastPathComponent, try await request.perform(on: cover)))
        }
        // Stored and read again, an observation is the same.
        let copies = try JSONDecoder().decode(
            [FeaturePrintObservation].self, from: JSONEncoder().encode(observations.map(\.print)))
        #expect(copies == observations.map(\.print))
        for (photograph, expected) in [
            ("photo-2.jpg", ["seventh-weather.jpg"]), ("photo-4.jpg", ["lowland-echo.jpg"]),
            ("screenshot-1.png", ["copper-horizon.jpg"]), ("photo-of-another-record.jpg", []),
            ("photo-of-a-mug.jpg", []),
        ] {
            let wanted = try await request.perform(on: demo.appendingPathComponent("queries/" + photograph))
            func accepted(_ distance: (Int) throws -> Double) rethrows -> [String] {
                try observations.indices.filter { try distance($0) <= 1 }.map { observations[$0].name }
            }
            #expect(try accepted { try wanted.distance(to: observations[$0].print) } == expected, "\(photograph)")
            #expect(try accepted { try wanted.distance(to: copies[$0]) } == expected, "\(photograph)")
        }
        for (first, second) in zip(observations, observations.dropFirst()) {
            #expect(try first.print.distance(to: first.print) == 0)
            #expect(try first.print.distance(to: second.print) > 1, "\(first.name), \(second.name)")
        }
        let bytes = try await request.perform(on: Data(contentsOf: covers[0]))
        #expect(bytes == observations[0].print && bytes.data.count == 4 * bytes.elementCount)
    }

    /// Checks both ways to merge labels and pixels from any cursor; some verified entities have a label, others none.
    @Test(arguments: [false, true])
    func theRankingDoesNotDependOnHowManyMatchesAreFew(hasSeveralImages: Bool) async throws {
        let fixture = try EntityFixture(Self.rows(hasSeveralImages: hasSeveralImages), localFeatures: true)
        let condition = Condition.isAnyOf(.type, ["album"])
        for (labels, seed, maxDistance) in [
            (["moon"], UInt64(4), 2.0), (["moon", "sun"], 3, 2), (["album", "moon"], 4, 0.9), (["sun"], 3, 0),
            (["moon"], 12, 2.0),
        ] {
            let query = try await fixture.albums.query(
                for: SemanticContentDescriptor(labels: labels, pixelBuffer: SampleImage.blocks(seed: seed)),
                maxDistance: .atMost(maxDistance))
            let all = try await query.ranking(in: fixture.catalog, condition: condition, limit: 50, after: nil)
            #expect(!all.isEmpty && all.map(\.cursor.sortKey) == all.map(\.cursor.sortKey).sorted())
            for cursor in [nil] + all.map({ Optional($0.cursor) }) {
                let expected =
                    cursor.map { cursor in
                        all.suffix(from: all.firstIndex { $0.cursor == cursor }! + 1)
                    } ?? all[...]
                for (limit, fewMatches) in [(50, 1000), (50, 1), (3, 1), (1, 1)] {
                    let found = try await query.ranking(
                        in: fixture.catalog, condition: condition, limit: limit, after: cursor, fewMatches: fewMatches)
                    #expect(found == Array(expected.prefix(limit)), "\(labels), \(limit), \(fewMatches)")
                }
            }
        }
    }
}
