import Catalogs
import Foundation
import TestSupport
import Testing

/// What programs beside a catalog know of its files.
struct CatalogFilesTests {
    @Test func whatAFolderHoldsOfACatalog() throws {
        let folder = try TemporaryFolder()
        func made(_ name: String, _ files: [String]) throws -> URL {
            let url = folder.file(name)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            for file in files { try Data().write(to: url.appendingPathComponent(file)) }
            return url
        }
        #expect(Catalog.state(of: folder.file("missing")) == .other)
        #expect(Catalog.state(of: try made("empty", [])) == .unfinished)
        #expect(
            Catalog.state(of: try made("killed", ["catalog.sqlite.new", "derived.lock", "writer.lock"])) == .unfinished)
        #expect(Catalog.state(of: try made("notes", ["notes.txt", "writer.lock"])) == .other)
        #expect(Catalog.state(of: try made("model", ["model.safetensors"])) == .other)
        #expect(Catalog.state(of: try made("catalog", ["catalog.sqlite"])) == .catalog)
        #expect(Catalog.state(of: folder.file("catalog").appendingPathComponent("catalog.sqlite")) == .other)
        // A link to itself cannot be followed.
        let link = try made("link", []).appendingPathComponent("catalog.sqlite").path
        #expect(symlink(link, link) == 0)
        #expect(Catalog.state(of: folder.file("link")) == .unknown)
    }

    @Test func theFilesOfACopy() async throws {
        let fixture = try CoverFixture()
        let copy = fixture.folder.file("copy")
        try await Catalog(at: fixture.catalog).copy(to: copy)
        let names = try FileManager.default.contentsOfDirectory(atPath: copy.path)
        #expect(!names.isEmpty && Set(names).isSubset(of: Catalog.copiedFileNames))
        #expect(Catalog.state(of: copy) == .catalog)
    }
}
