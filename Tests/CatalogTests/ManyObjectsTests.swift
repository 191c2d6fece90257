import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// Images that show many entities, and long ones that show a small one.
struct ManyObjectsTests {
    private static func plain(width: Int, height: Int) throws -> PixelBuffer {
        try PixelBuffer(
            [UInt8](repeating: 200, count: width * height * 3), width: width, height: height, format: .rgb8)
    }

    /// A cover, drawn at another size.
    private static func cover(_ index: Int, width: Int = 150, height: Int = 130) -> PixelBuffer {
        SampleImage.shapes(seed: UInt64(40 + index), width: width, height: height)
    }

    /// The image with others on it, each at its top left corner.
    private static func pasting(
        _ parts: [(image: PixelBuffer, x: Int, y: Int)], on image: PixelBuffer
    ) throws -> PixelBuffer {
        var pixels = image.withUnsafeBytes { Array($0) }
        for part in parts {
            part.image.withUnsafeBytes { source in
                for row in 0..<part.image.height {
                    let from = row * part.image.bytesPerRow
                    let to = (part.y + row) * image.bytesPerRow + part.x * 3
                    pixels.replaceSubrange(
                        to..<(to + part.image.width * 3), with: source[from..<(from + part.image.width * 3)])
                }
            }
        }
        return try PixelBuffer(pixels, width: image.width, height: image.height, format: .rgb8)
    }

    /// Rows of eight covers, more than a search verifies at first.
    private static func wall(of covers: [PixelBuffer]) throws -> PixelBuffer {
        let rows = (covers.count + 7) / 8
        return try pasting(
            covers.enumerated().map { ($1, 12 + $0 % 8 * 170, 12 + $0 / 8 * 150) },
            on: plain(width: 1_372, height: 24 + 150 * rows))
    }

    private static func outlineError(_ match: CatalogMatch, x: Int, y: Int, in image: PixelBuffer) -> Double {
        guard let corner = match.outline?.topLeft else { return .infinity }
        return max(abs(corner.x - Double(x) / Double(image.width)), abs(corner.y - Double(y) / Double(image.height)))
    }

    @Test func allCoversOfAWallAreFoundAndEachOnce() async throws {
        let fixture = try CoverFixture(count: 46)
        let catalog = try Catalog(at: fixture.catalog)
        // The catalog lacks the last eight, and its own last six are not shown.
        let shown = Array(0..<40) + Array(60..<68)
        let image = try Self.wall(of: shown.map { Self.cover($0) })
        let matches = try await catalog.search(matching: image, options: SearchOptions(limit: 100))
        #expect(Set(matches.map(\.id)) == Set((0..<40).map { "c\($0)" }))
        #expect(Set(matches.map(\.id)).count == matches.count)
        for match in matches {
            let index = try #require(Int(match.id.dropFirst()))
            let error = Self.outlineError(match, x: 12 + index % 8 * 170, y: 12 + index / 8 * 150, in: image)
            #expect(error < 0.02, "\(match.id)")
        }
    }

    @Test func noMoreObjectsAreFoundThanAreWanted() async throws {
        let fixture = try CoverFixture(count: 24)
        let catalog = try Catalog(at: fixture.catalog)
        let image = try Self.wall(of: (0..<20).map { Self.cover($0) })
        for count in [1, 3, 17, 20, 30] {
            let matches = try await catalog.search(
                matching: image, options: SearchOptions(limit: 100, maxObjects: count))
            #expect(matches.count == min(count, 20), "\(count)")
            #expect(Set(matches.map(\.id)).isSubset(of: Set((0..<20).map { "c\($0)" })))
        }
    }

    /// Copies of what is shown take no other's place.
    @Test func asManyObjectsAreFoundWhereEachHasCopies() async throws {
        let folder = try TemporaryFolder()
        for index in 0..<20 {
            for quality in [30, 60, 90] {
                try folder.write(
                    CoverFixture.cover(index).jpegData(quality: quality), to: "images/c\(index)-\(quality).jpg")
            }
        }
        let url = folder.file("catalog")
        _ = try CatalogIndexer(at: url).index(ImageSource.items(at: folder.file("images")).items)
        // So small that inliers alone do not decide.
        let covers = (0..<20).map { Self.cover($0, width: 105, height: 91) }
        let matches = try await Catalog(at: url).search(
            matching: Self.wall(of: covers), options: SearchOptions(limit: 100, maxObjects: 20))
        let found = Set(matches.map { $0.id.prefix { $0 != "-" } })
        #expect(found.count == 20, "\(found.sorted())")
    }

    /// Entities with the same picture are one object.
    @Test func allEntitiesOfTheOnlyObjectAreFound() async throws {
        let folder = try TemporaryFolder()
        for index in 0..<8 {
            try folder.write(CoverFixture.cover(index < 3 ? 1 : index).pngData(), to: "images/c\(index).png")
        }
        let url = folder.file("catalog")
        _ = try CatalogIndexer(at: url).index(ImageSource.items(at: folder.file("images")).items)
        let (image, _) = CoverFixture.photograph([
            (1, 0.8, 20, SIMD2(180, 240)), (5, 0.6, 300, SIMD2(460, 240)),
        ])
        let catalog = try Catalog(at: url)
        let surest = try await catalog.search(matching: image, options: SearchOptions(maxObjects: 1))
        let all = try await catalog.search(matching: image)
        #expect(Set(all.map(\.id)) == ["c0", "c1", "c2", "c5"])
        #expect([["c0", "c1", "c2"], ["c5"]].contains(surest.map(\.id).sorted()))
    }

    /// In the whole image the cover is 30 pixels wide.
    @Test(arguments: [0, 4_100, 9_740]) func aSmallPictureInALongImageIsFound(y: Int) async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let others = (0..<9).map { (Self.cover(70 + $0, width: 300, height: 260), 40, 400 + $0 * 1_000) }
            .filter { abs($0.2 - y) > 300 }
        let image = try Self.pasting(
            others + [(Self.cover(2, width: 300, height: 260), 200, y)], on: Self.plain(width: 540, height: 10_000))
        let matches = try await catalog.search(matching: image)
        #expect(matches.map(\.id) == ["c2"])
        let first = try #require(matches.first)
        #expect(Self.outlineError(first, x: 200, y: y, in: image) < 0.01)
    }

    /// At a quarter of its size, at which the file was decoded, the cover is 75 pixels wide.
    @Test func aSmallPictureInALargeJPEGFileIsFound() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let others = (0..<9).map { (Self.cover(70 + $0, width: 600, height: 520), 40 + $0 * 640, 2_600) }
        let (x, y) = (4_311, 1_207)
        let screen = try Self.pasting(
            others + [(Self.cover(2, width: 300, height: 260), x, y)], on: Self.plain(width: 6_016, height: 3_384))
        let file = try screen.jpegData()
        let image = try PixelBuffer(decoding: file, options: catalog.decodingOptions)
        #expect(image.width == 3_008)
        let matches = try await catalog.search(matching: image)
        #expect(matches.map(\.id) == ["c2"])
        let first = try #require(matches.first)
        #expect(Self.outlineError(first, x: x, y: y, in: screen) < 0.01)
        #expect(try PixelBuffer(decoding: file, options: catalog.decodingOptions(for: .prints)).width < 1_000)
    }

    @Test func aLongImageWithoutEntitiesHasNoMatch() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let others = (0..<9).map { (Self.cover(70 + $0, width: 300, height: 260), 400 + $0 * 600, 90) }
        let image = try Self.pasting(others, on: Self.plain(width: 6_000, height: 500))
        #expect(try await catalog.search(matching: image).isEmpty)
    }
}
