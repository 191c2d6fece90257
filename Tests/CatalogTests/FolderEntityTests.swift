import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// A folder, and a list of images, say nothing of an entity but its image.
struct FolderEntityTests {
    private let folder: TemporaryFolder
    private var catalog: URL { folder.file("catalog") }

    init() throws { folder = try TemporaryFolder() }

    private func write(_ name: String, seed: UInt64) throws {
        let file = folder.file(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try SampleImage.shapes(seed: seed, width: 200, height: 160).pngData().write(to: file)
    }

    private func index(_ name: String) throws -> IndexReport {
        let entries = try ImageSource.entries(at: folder.file(name))
        return try CatalogIndexer(at: catalog).index(entries)
    }

    private func entity(_ id: String) async throws -> CatalogEntity? {
        try await Catalog(at: catalog).entities(for: [id]).first
    }

    @Test func whatIsStoredOfAnEntityStays() async throws {
        try write("f/front.png", seed: 1)
        try write("f/back.png", seed: 2)
        try folder.write(
            Data("id,images,title,labels,price\nfront,f/front.png|f/back.png,Small Hours,tape;sold,9.90\n".utf8),
            to: "list.csv")
        _ = try index("list.csv")
        let before = try #require(try await entity("front"))
        #expect(before.images.count == 2 && before.attributes == ["price": "9.90"])

        let first = try index("f")
        #expect((first.added, first.updated, first.unchanged) == (1, 0, 1), "“back” is an entity of its own")
        #expect(try await entity("front") == before)

        // Another picture in the file of the first image, and then of the second one alone.
        try write("f/front.png", seed: 3)
        #expect(try index("f").updated == 1)
        #expect(try await entity("front") == before)
        let catalog = try Catalog(at: catalog)
        for (seed, ids) in [(3, ["front"]), (2, ["back", "front"])] as [(UInt64, [String])] {
            let photo = SampleImage.shapes(seed: seed, width: 200, height: 160)
            let found = try await catalog.search(matching: photo).filter { $0.confidence > 0.5 }.map(\.entity.id)
            #expect(found.sorted() == ids, "picture \(seed)")
        }
        #expect(try index("f").unchanged == 2)
    }

    @Test func anIDOfAnotherFolderIsReported() async throws {
        try write("100/IMG_0001.png", seed: 1)
        try write("101/IMG_0001.png", seed: 2)
        _ = try index("100")
        let report = try index("101")
        #expect(report.failed == 1 && report.updated == 0)
        #expect(
            report.problems.map(\.reason) == [
                "has the same id “IMG_0001” as \(folder.file("100/IMG_0001.png").path); index a folder that has both"
            ])
        #expect(try await entity("IMG_0001")?.image == folder.file("100/IMG_0001.png").path)
        // The same picture, and one whose file is gone, has moved.
        try write("102/IMG_0001.png", seed: 1)
        #expect(try index("102").problems.isEmpty)
        #expect(try await entity("IMG_0001")?.image == folder.file("102/IMG_0001.png").path)
        try FileManager.default.removeItem(at: folder.file("102"))
        #expect(try index("101").updated == 1)
    }

    @Test func aListMayNameAnImageTwice() throws {
        try write("a.png", seed: 1)
        let entries = ImageSource.entries(ofImagesAt: ["a.png", "./a.png"], below: folder.url)
        let report = try CatalogIndexer(at: catalog).index(entries)
        #expect(report.added == 1 && report.problems.isEmpty)
    }
}
