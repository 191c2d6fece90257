import Catalogs
import FeaturePrints
import Foundation
import GRDB
import TestSupport
import Testing

/// Damage to a catalog's files.
struct CatalogStorageTests {
    private static func answers(_ fixture: CatalogFixture) async throws -> [String] {
        let catalog = try Catalog(at: fixture.catalog)
        return try await catalog.search(
            matching: SampleImage.blocks(seed: 3),
            options: SearchOptions(limit: 10, bounds: MatchBounds(maxDistance: 2))
        ).map {
            "\($0.entity.id) \($0.distance)"
        }
    }

    @Test func aMatrixThatIsMissingStaleOrDamagedIsMadeAnew() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        let matrix = fixture.catalog.appendingPathComponent("prints.matrix")
        let whole = try Data(contentsOf: matrix)
        let expected = try await Self.answers(fixture)
        #expect(expected.count == 6)

        var damages: [(String, Data?)] = [("missing", nil), ("empty", Data()), ("too long", whole + Data([0]))]
        for count in [1, 64, 127, 128, 1000, whole.count - 1] {
            damages.append(("cut to \(count)", whole.prefix(count)))
        }
        for position in 0..<128 {
            var header = whole
            header[position] ^= 0x11
            damages.append(("byte \(position) of the header", header))
        }
        for (name, data) in damages {
            try FileManager.default.removeItem(at: matrix)
            try data?.write(to: matrix)
            #expect(try await Self.answers(fixture) == expected, "\(name)")
            #expect(try Data(contentsOf: matrix) == whole, "\(name): what is derived again is the same")
        }
    }

    @Test func aStaleMatrixOfAnEarlierRevisionIsNotUsed() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        let matrix = fixture.catalog.appendingPathComponent("prints.matrix")
        let old = try Data(contentsOf: matrix)
        try CatalogIndexer(at: fixture.catalog).removeAll([fixture.id(3)])
        // As after a kill between the commit and the new matrix.
        try old.write(to: matrix)
        #expect(try await Self.answers(fixture).count == 5)
    }

    @Test func verifyFindsWhatAHeaderDoesNotTell() async throws {
        let fixture = try CatalogFixture()
        try fixture.index()
        let matrix = fixture.catalog.appendingPathComponent("prints.matrix")
        var damaged = try Data(contentsOf: matrix)
        damaged[300] ^= 1
        try damaged.write(to: matrix)
        #expect(
            try await Catalog(at: fixture.catalog).verify().contains {
                $0.contains("prints.matrix") && $0.contains("rebuilt")
            })
        #expect(try await Catalog(at: fixture.catalog).verify().isEmpty)
    }

    @Test func leftoversOfKilledWritersAreSwept() throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        // In a container, the process after the one that was killed has the same number.
        let leftover = fixture.catalog.appendingPathComponent("prints.matrix.\(getpid())-1.part")
        try Data("half".utf8).write(to: leftover)
        try fixture.write(0, seed: 50)
        try fixture.index()
        #expect(!FileManager.default.fileExists(atPath: leftover.path))
    }

    @Test func aWriterRecordsItsVersion() async throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        #expect(try await Catalog(at: fixture.catalog).info.writtenBy == PackageVersion.current)
        let database = try DatabaseQueue(path: fixture.catalog.appendingPathComponent("catalog.sqlite").path)
        func set(_ version: String) throws {
            try database.write {
                try $0.execute(sql: "UPDATE setting SET value = ? WHERE key = 'writtenBy'", arguments: [version])
                #expect($0.changesCount == 1)
            }
        }
        try set("0.0.9")
        #expect(try await Catalog(at: fixture.catalog).info.writtenBy == "0.0.9", "readers do not change it")
        try fixture.index()
        #expect(try await Catalog(at: fixture.catalog).info.writtenBy == PackageVersion.current)
    }

    @Test func foldersThatAreNoCatalog() throws {
        let folder = try TemporaryFolder()
        func reason(_ url: URL) -> CatalogError.Reason? {
            do { _ = try Catalog(at: url) } catch let error as CatalogError { return error.reason } catch { return nil }
            return nil
        }
        #expect(reason(folder.url) == .missing)
        #expect(reason(folder.file("nowhere")) == .missing)
        // A writer that was killed as it made the database.
        try folder.write(Data(), to: "half/catalog.sqlite")
        #expect(reason(folder.file("half")) == .missing)
        try folder.write(
            "not a database, but long enough to look like one" + String(repeating: "x", count: 4096),
            to: "junk/catalog.sqlite")
        guard case .damaged = reason(folder.file("junk")) else { Issue.record("junk was opened"); return }
        try folder.write("a file", to: "file")
        #expect(throws: CatalogError.self) { try CatalogIndexer(at: folder.file("file")) }
    }

    /// A disk that fails does not say that there is nothing on it.
    @Test func aDatabaseThatCannotBeReachedIsNotReplaced() throws {
        let folder = try TemporaryFolder()
        let database = folder.file("catalog.sqlite").path
        #expect(symlink(database, database) == 0)
        let writing = #expect(throws: CatalogError.self) { try CatalogIndexer(at: folder.url) }
        #expect(writing?.reason == .unwritable("catalog.sqlite: Too many levels of symbolic links"))
        let reading = #expect(throws: CatalogError.self) { try Catalog(at: folder.url) }
        #expect(reading?.reason != .missing)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: database) == database)
    }

    /// Such as a manifest.
    @Test func anExportReplacesNoOtherFiles() async throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        let manifest = try fixture.folder.write("{}", to: "own/entities.jsonl")
        let output = manifest.deletingLastPathComponent()
        let catalog = try Catalog(at: fixture.catalog)
        let error = await #expect(throws: CatalogError.self) { try await catalog.export(to: output) }
        #expect(error?.description.contains("“entities.jsonl” is not of an earlier export") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["entities.jsonl"])
        #expect(try String(contentsOf: manifest, encoding: .utf8) == "{}")
    }

    /// Lines of an earlier export are not those of the prints beside them.
    @Test func anExportThatFailsLeavesNoLinesOfAnEarlierOne() async throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let output = fixture.folder.file("export")
        try await catalog.export(to: output)
        try FileManager.default.removeItem(at: output.appendingPathComponent("prints.npy"))
        try fixture.folder.write(Data(), to: "export/prints.npy/file")
        await #expect(throws: (any Error).self) { try await catalog.export(to: output) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["prints.npy"])
    }

    @Test func exportsWhatNumPyReads() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let output = fixture.folder.file("export")
        try await catalog.export(to: output)
        let lines = String(
            decoding: try Data(contentsOf: output.appendingPathComponent("entities.jsonl")), as: UTF8.self
        ).split(separator: "\n")
        let prints = try Data(contentsOf: output.appendingPathComponent("prints.npy"))
        #expect(lines.count == 4)
        #expect(prints.count == 128 + 4 * catalog.model.dimension * 4)
        struct Line: Decodable { let id: String }
        for (row, line) in lines.enumerated() {
            let id = try JSONDecoder().decode(Line.self, from: Data(line.utf8)).id
            let index = try #require((0..<4).first { fixture.id($0) == id })
            let start = 128 + row * catalog.model.dimension * 4
            let first = prints[start..<(start + 4)].withUnsafeBytes { $0.loadUnaligned(as: Float.self) }
            #expect(try catalog.model.featurePrint(for: SampleImage.blocks(seed: UInt64(index))).vector[0] == first)
        }
    }
}
