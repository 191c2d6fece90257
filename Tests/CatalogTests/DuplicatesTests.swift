import Catalogs
import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing

/// Groups of entities with the same picture.
struct DuplicatesTests {
    private static func picture(_ seed: UInt64) -> PixelBuffer {
        SampleImage.shapes(seed: seed, width: 400, height: 320)
    }

    private static func catalog(
        _ files: [(id: String, data: Data)], in folder: TemporaryFolder, localFeatures: Bool = true
    ) throws -> Catalog {
        for (id, data) in files { try folder.write(data, to: "images/\(id).png") }
        let url = folder.file("catalog")
        _ = try CatalogIndexer(at: url, localFeatures: localFeatures)
            .index(ImageSource.items(at: folder.file("images")).items)
        return try Catalog(at: url)
    }

    private static func mirrored(_ image: PixelBuffer) throws -> PixelBuffer {
        try changed(image) { pixels, x in pixels[image.width - 1 - x] }
    }

    /// The picture in gray.
    private static func gray(_ image: PixelBuffer) throws -> PixelBuffer {
        try changed(image) { pixels, x in
            let pixel = pixels[x].map(Double.init)
            let luma = UInt8(0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])
            return [luma, luma, luma]
        }
    }

    private static func changed(
        _ image: PixelBuffer, _ pixel: (_ row: [[UInt8]], _ x: Int) -> [UInt8]
    ) throws -> PixelBuffer {
        let bytes = image.withUnsafeBytes { bytes in
            (0..<image.height).flatMap { y in
                let row = (0..<image.width).map { x in
                    let at = y * image.bytesPerRow + x * 3
                    return Array(bytes[at..<(at + 3)])
                }
                return row.indices.flatMap { pixel(row, $0) }
            }
        }
        return try PixelBuffer(bytes, width: image.width, height: image.height, format: .rgb8)
    }

    @Test func copiesAreGroupedWithWhatDiffers() async throws {
        let folder = try TemporaryFolder()
        let picture = Self.picture(1)
        var files = try [
            ("a", picture.pngData()), ("a-crop", picture.centerCrop(0.84).pngData()),
            ("a-gray", Self.gray(picture).pngData()), ("a-mirrored", Self.mirrored(picture).pngData()),
            ("a-poor", picture.jpegData(quality: 40)), ("a-same", picture.pngData()),
            ("a-small", Resizer(width: 200, height: 160).resizedPixels(of: picture).pngData()),
            ("b", Self.picture(2).pngData()), ("b-same", Self.picture(2).pngData()),
        ]
        for seed in 3..<10 { files.append(("other\(seed)", try Self.picture(UInt64(seed)).pngData())) }
        let groups = try await Self.catalog(files, in: folder).duplicates()
        #expect(groups.map(\.reference.id) == ["a", "b"])
        let first = try #require(groups.first)
        #expect(
            first.duplicates.map(\.entity.id) == ["a-crop", "a-gray", "a-mirrored", "a-poor", "a-same", "a-small"])
        #expect(
            first.duplicates.map(\.difference) == [.crop, .color, .mirrored, .quality, .none, .quality],
            "\(first.duplicates.map { ($0.entity.id, $0.difference, $0.distance) })")
        #expect(groups.last?.duplicates.map(\.difference) == [DuplicateGroup.Difference.none])
    }

    /// The picture from which a crop was cut comes first, wherever it is in the catalog.
    @Test func theReferenceShowsMostOfThePicture() async throws {
        let folder = try TemporaryFolder()
        let picture = Self.picture(1)
        let files = try [
            ("1", picture.centerCrop(0.8).pngData()), ("2", picture.pngData()), ("3", picture.pngData()),
        ]
        let groups = try await Self.catalog(files, in: folder).duplicates()
        #expect(groups.map(\.reference.id) == ["2"])
        #expect(groups.first?.duplicates.map(\.entity.id) == ["1", "3"])
        #expect(groups.first?.duplicates.map(\.difference) == [.crop, .none])
    }

    @Test func formsOfOneTemplateAreNoDuplicates() async throws {
        let folder = try TemporaryFolder()
        let files = try (0..<8).map { seed in
            // The same frame and heading on all of them, and shapes of its own in the middle.
            let frame = SampleImage.shapes(seed: 7, width: 400, height: 400, count: 60)
            let content = SampleImage.shapes(seed: 100 + UInt64(seed), width: 400, height: 240, count: 60)
            let form = frame.drawing(content, at: Placement(of: content, center: SIMD2(200, 260)))
            return ("form\(seed)", try form.pngData())
        }
        #expect(try await Self.catalog(files, in: folder).duplicates().isEmpty)
    }

    @Test func withoutLocalFeaturesPrintsDecide() async throws {
        let folder = try TemporaryFolder()
        let files = try [
            ("a", Self.picture(1).pngData()), ("b", Self.picture(2).pngData()), ("c", Self.picture(1).pngData()),
        ]
        let groups = try await Self.catalog(files, in: folder, localFeatures: false).duplicates()
        #expect(groups.map(\.reference.id) == ["a"])
        #expect(groups.first?.duplicates.map(\.entity.id) == ["c"])
        #expect(groups.first?.duplicates.map(\.difference) == [DuplicateGroup.Difference.none])
    }

    @Test func onlySelectedEntitiesAreCompared() async throws {
        let folder = try TemporaryFolder()
        let files = try [("a", 1), ("b", 2), ("c", 1), ("d", 1), ("e", 2)].map { ($0, try Self.picture($1).pngData()) }
        let catalog = try Self.catalog(files, in: folder)
        let reports = Mutex<[[Int]]>([])
        let groups = try await catalog.duplicates(where: .not(EntityField.id.isAnyOf(["a", "e"]))) { done, total in
            reports.withLock { $0.append([done, total]) }
        }
        #expect(groups.map(\.reference.id) == ["c"] && groups.map { $0.duplicates.map(\.entity.id) } == [["d"]])
        let progress = reports.withLock(\.self)
        #expect(progress.first == [0, 3] && progress.last == [3, 3], "\(progress)")
        #expect(progress.map { $0[0] } == progress.map { $0[0] }.sorted())
        #expect(try await catalog.duplicates(where: EntityField.id.isAnyOf(["none"])).isEmpty)
    }

    /// More copies than nearest prints are compared with each.
    @Test func manyCopiesAreOneGroup() async throws {
        let folder = try TemporaryFolder()
        let data = try Self.picture(1).pngData()
        let files = (10..<50).map { ("\($0)", data) } + [("other", try Self.picture(2).pngData())]
        let groups = try await Self.catalog(files, in: folder).duplicates()
        #expect(groups.count == 1 && groups.first?.reference.id == "10" && groups.first?.duplicates.count == 39)
    }

    @Test func aCancelledTaskThrows() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await catalog.duplicates()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func matchesAreFoldedWithTheSurest() async throws {
        let folder = try TemporaryFolder()
        let files = try [
            ("a", CoverFixture.cover(1).pngData()), ("a-poor", CoverFixture.cover(1).jpegData(quality: 40)),
            ("b", CoverFixture.cover(2).pngData()), ("c", CoverFixture.cover(3).pngData()),
        ]
        let catalog = try Self.catalog(files, in: folder)
        let (photo, _) = CoverFixture.photograph(of: 1)
        let matches = try await catalog.search(matching: photo, options: SearchOptions(bounds: .none))
        #expect(matches.count == 4)
        let groups = try await catalog.grouped(matches)
        #expect(groups.map(\.match) == [matches[0], matches[2], matches[3]])
        #expect(groups.map(\.duplicates) == [[matches[1]], [], []])
        #expect(try await catalog.grouped([]).isEmpty)
    }

    /// Where two things are shown, the copies of one come among those of the other.
    @Test func aLimitOfGroupsLeavesTheirCopies() async throws {
        let folder = try TemporaryFolder()
        let files = try [1, 5].flatMap { index in
            try [35, 50, 65, 80, 95].map { ("\(index)-\($0)", try CoverFixture.cover(index).jpegData(quality: $0)) }
        }
        let catalog = try Self.catalog(files, in: folder)
        let (photo, _) = CoverFixture.photograph([(1, 0.8, 20, SIMD2(180, 240)), (5, 0.8, 300, SIMD2(460, 240))])
        let query = try await catalog.query(for: photo)
        let all = try await catalog.matches(of: query, options: SearchOptions(limit: 50), areFolded: true)
        #expect(all.shown.count == 2 && all.all.count == 10)
        let first = try #require(all.shown.first)
        let one = try await catalog.matches(of: query, options: SearchOptions(limit: 1), areFolded: true)
        #expect(one.shown == [first])
        #expect(one.duplicates?[first.key] == all.duplicates?[first.key])
    }
}
