import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// Catalogs in which several entities have the same picture, or pictures of one layout.
struct SharedPictureTests {
    private static func catalog(_ images: [(id: String, image: PixelBuffer)], in folder: TemporaryFolder) throws
        -> Catalog
    {
        for (id, image) in images { try folder.write(image.pngData(), to: "images/\(id).png") }
        let url = folder.file("catalog")
        _ = try CatalogIndexer(at: url).index(ImageSource.items(at: folder.file("images")).items)
        return try Catalog(at: url)
    }

    /// A shop has one picture for all sizes of a shoe: a photograph finds them all, as surely as one alone.
    @Test(arguments: [1, 2, 6, 40]) func allEntitiesWithThePictureAreFound(copies: Int) async throws {
        let folder = try TemporaryFolder()
        let shoe = CoverFixture.cover(1)
        var images = (0..<copies).map { (id: "size\($0)", image: shoe) }
        images += (2..<8).map { (id: "c\($0)", image: CoverFixture.cover($0)) }
        let catalog = try Self.catalog(images, in: folder)
        let (photo, _) = CoverFixture.photograph(of: 1)
        let matches = try await catalog.search(matching: photo, options: SearchOptions(limit: 100))
        #expect(Set(matches.map(\.id)) == Set((0..<copies).map { "size\($0)" }))
        #expect(matches.allSatisfy { $0.confidence > 0.95 && $0.inlierCount >= 12 }, "\(matches.map(\.confidence))")
        let others = Condition.not(.contains(.id, "1"))
        let some = try await catalog.search(matching: photo, options: SearchOptions(limit: 100, condition: others))
        #expect(Set(some.map(\.id)) == Set((0..<copies).map { "size\($0)" }.filter { !$0.contains("1") }))
    }

    /// Two pictures fill a photo, and many entities have each, beside another image.
    @Test(arguments: [3, 9, 30]) func allEntitiesWithTwoPicturesAreFound(copies: Int) async throws {
        let folder = try TemporaryFolder()
        let url = folder.file("catalog")
        let indexer = try CatalogIndexer(at: url)
        for index in 0..<copies {
            for (shown, name) in [(0, "a"), (1, "b")] {
                let images = [2 + index % 8, shown].map { IndexImage.pixels(CoverFixture.cover($0)) }
                try await indexer.upsert(IndexItem(CatalogEntity(id: "\(name)\(index)"), images: images))
            }
        }
        let (photo, _) = CoverFixture.photograph([(0, 1, 5, SIMD2(165, 240)), (1, 1, 355, SIMD2(475, 240))])
        let matches = try await Catalog(at: url).search(matching: photo, options: SearchOptions(limit: 100))
        #expect(Set(matches.map(\.id)) == Set((0..<copies).flatMap { ["a\($0)", "b\($0)"] }))
        #expect(matches.allSatisfy { $0.imageIndex == 1 && $0.outline != nil })
    }

    /// A form that is filled in otherwise has the same layout, and is not the one in the catalog.
    @Test(arguments: [false, true]) func aFormThatTheCatalogLacksIsNotTakenForAnother(isPhotographed: Bool) async throws
    {
        let folder = try TemporaryFolder()
        func form(_ seed: UInt64) -> PixelBuffer {
            // The same frame and heading on all of them, and shapes of its own in the middle.
            let frame = SampleImage.shapes(seed: 7, width: 400, height: 400, count: 60)
            let content = SampleImage.shapes(seed: 100 + seed, width: 400, height: 240, count: 60)
            return frame.drawing(content, at: Placement(of: content, scale: 1, degrees: 0, center: SIMD2(200, 260)))
        }
        // Alone, the crop that the outline rectifies resembles all forms; the photo as a whole resembles none.
        func query(_ seed: UInt64) -> PixelBuffer {
            guard isPhotographed else { return form(seed) }
            let table = SampleImage.shapes(seed: 50 + seed, width: 1000, height: 800, count: 40)
            let place = Placement(of: form(seed), scale: 1.1, degrees: 6, center: SIMD2(480, 410))
            return table.drawing(form(seed), at: place)
        }
        let forms = (0..<8).map { ("form\($0)", form(UInt64($0))) }
        let catalog = try Self.catalog(forms + (0..<8).map { ("c\($0)", CoverFixture.cover($0)) }, in: folder)
        let known = try await catalog.search(matching: query(3))
        #expect(known.map(\.id) == ["form3"])
        for seed in 20..<24 {
            let matches = try await catalog.search(matching: query(UInt64(seed)))
            #expect(matches.isEmpty, "form \(seed): \(matches.map { ($0.id, $0.confidence) })")
        }
    }

    @Test func aMirroredCopyIsFoundAndSaid() async throws {
        let folder = try TemporaryFolder()
        let catalog = try Self.catalog((0..<8).map { ("c\($0)", CoverFixture.cover($0)) }, in: folder)
        let cover = CoverFixture.cover(2)
        let copy = try cover.mirrored()
        cover.withUnsafeBytes { original in
            copy.withUnsafeBytes { mirrored in
                for x in 0..<cover.width {
                    #expect(original[3 * x + 1] == mirrored[3 * (cover.width - 1 - x) + 1])
                }
            }
        }
        let first = try #require(try await catalog.search(matching: copy).first)
        #expect(first.id == "c2" && first.isMirrored && first.inlierCount >= 12)
        let corners = try #require(first.outline).corners
        for (corner, expected) in zip(corners, [(1.0, 0.0), (0, 0), (0, 1), (1, 1)]) {
            #expect(hypot(corner.x - expected.0, corner.y - expected.1) < 0.03, "\(corners)")
        }
        let upright = try #require(try await catalog.search(matching: cover).first)
        #expect(upright.id == "c2" && !upright.isMirrored)
    }

    @Test func whatIsSimilarIsRankedByPrintsBesideTheMatches() async throws {
        let folder = try TemporaryFolder()
        let catalog = try Self.catalog((0..<8).map { ("c\($0)", CoverFixture.cover($0)) }, in: folder)
        let query = try await catalog.query(for: CoverFixture.photograph(of: 3).image)
        let matches = try await catalog.search(query)
        #expect(matches.map(\.id) == ["c3"])
        let similar = try await catalog.similar(to: query, besides: matches, options: SearchOptions(limit: 4))
        #expect(similar.count == 4 && !similar.contains { $0.id == "c3" || $0.outline != nil })
        #expect(similar.map(\.distance) == similar.map(\.distance).sorted())
        let all = try await catalog.similar(to: query, options: SearchOptions(limit: 20))
        #expect(all.count == 8 && Array(all.map(\.id).filter { $0 != "c3" }.prefix(4)) == similar.map(\.id))
    }

    /// A quarter of a picture's area, and nothing else, is enough.
    @Test func aPartOfAPictureFindsIt() async throws {
        let folder = try TemporaryFolder()
        func picture(_ seed: UInt64) -> PixelBuffer {
            SampleImage.shapes(seed: seed, width: 600, height: 600, count: 150)
        }
        let catalog = try Self.catalog((0..<6).map { ("p\($0)", picture(UInt64($0))) }, in: folder)
        for seed in 0..<6 {
            let part = picture(UInt64(seed)).centerCrop(0.5)
            let matches = try await catalog.search(matching: part)
            #expect(matches.first?.id == "p\(seed)", "\(seed)")
        }
    }
}
