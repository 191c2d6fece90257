import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Prints that were made before, in NumPy files.
struct PrintFilesTests {
    private let folder: TemporaryFolder
    private let dimension: Int
    private var catalog: URL { folder.file("catalog") }

    init() throws {
        folder = try TemporaryFolder()
        dimension = try FeaturePrintModel.default().dimension
    }

    private func unit(_ place: Int) -> [Float] { (0..<dimension).map { $0 == place ? 1 : 0 } }

    private func files(_ rows: [[Float]], _ lines: [String], columns: Int? = nil) throws -> PrintFiles {
        let prints = try folder.write(NumPyFile.data(rows, columns: columns ?? dimension), to: "prints.npy")
        return try PrintFiles(
            prints: prints, entities: folder.write(lines.joined(separator: "\n"), to: "entities.jsonl"))
    }

    private func problem(_ rows: [[Float]], _ lines: [String]) -> String {
        do {
            _ = try files(rows, lines)
            return "none"
        } catch {
            return "\(error)".replacing(folder.url.path + "/", with: "")
        }
    }

    @Test func whatWasExportedIsImported() async throws {
        let fixture = try CoverFixture()
        let several = CatalogEntity(
            id: "sev/é \"1\"", type: "t", title: "Sev", labels: ["a", "b;c"], attributes: ["price": "1.50"],
            images: ["front", "", "somewhere/back.jpg"])
        let pixels = (6..<9).map { IndexImage.pixels(CoverFixture.cover($0)) }
        _ = try CatalogIndexer(at: fixture.catalog).index([IndexItem(several, images: pixels)])
        let original = try Catalog(at: fixture.catalog)
        let out = folder.file("out")
        try await original.export(to: out)
        let files = try PrintFiles(
            prints: out.appendingPathComponent("prints.npy"), entities: out.appendingPathComponent("entities.jsonl"))
        #expect(files.count == 9)
        let report = try CatalogIndexer(at: catalog, localFeatures: false).index(files)
        #expect((report.added, report.failed) == (7, 0))
        let imported = try Catalog(at: catalog)
        #expect(try await imported.verify().isEmpty)
        func entities(_ catalog: Catalog) async throws -> [CatalogEntity] {
            try await catalog.reduceEntities(into: []) { $0.append($1) }
        }
        #expect(try await entities(imported) == entities(original))
        let options = SearchOptions(bounds: .none, effort: .prints)
        for number in 0..<9 {
            let (image, _) = CoverFixture.photograph(of: number, degrees: 4)
            func answer(_ catalog: Catalog) async throws -> [String] {
                try await catalog.search(matching: image, options: options).map {
                    "\($0.id) \($0.imageIndex) \($0.distance)"
                }
            }
            let expected = try await answer(original)
            #expect(expected.count == 7)
            #expect(try await answer(imported) == expected)
        }
        let again = try CatalogIndexer(at: catalog, localFeatures: false).index(files)
        #expect((again.added, again.updated, again.unchanged) == (0, 0, 7))
    }

    private static func records(_ parts: [Data?]) -> Data {
        parts.reduce(into: Data()) { data, part in
            withUnsafeBytes(of: UInt32(part?.count ?? 0).littleEndian) { data.append(contentsOf: $0) }
            data += part ?? Data()
        }
    }

    /// As on another machine, by the worker.
    @Test func whatWasComputedElsewhereIsAsIndexed() async throws {
        let items = (0..<5).map {
            IndexItem(CatalogEntity(id: "c\($0)"), image: .pixels(CoverFixture.cover($0)))
        }
        _ = try CatalogIndexer(at: folder.file("indexed")).index(items)
        let computer = try ImageComputer(model: .default())
        let orders = try (0..<5).map { number in
            ImageComputer.Order(
                .data(try CoverFixture.cover(number).pngData()), named: "\(number)", withLocalFeatures: true,
                thumbnailSide: 256)
        }
        let computed = try computer.results(of: orders, threads: 2).map { try $0.get().image }
        let lines = (0..<5).map { #"{"id": "c\#($0)"}"# }
        func files(features: [Data?], thumbnails: [Data?]) throws -> PrintFiles {
            try PrintFiles(
                prints: folder.write(
                    NumPyFile.data(computed.map(\.print.vector), columns: dimension), to: "prints.npy"),
                entities: folder.write(lines.joined(separator: "\n"), to: "entities.jsonl"),
                localFeatures: folder.write(Self.records(features), to: "features"),
                thumbnails: folder.write(Self.records(thumbnails), to: "thumbnails"))
        }
        let (features, thumbnails) = (computed.map(\.localFeatures), computed.map(\.thumbnail))
        let whole = try files(features: features, thumbnails: thumbnails)
        #expect(try CatalogIndexer(at: catalog).index(whole).added == 5)
        #expect(try CatalogIndexer(at: catalog).index(whole).unchanged == 5)
        let (imported, indexed) = try (Catalog(at: catalog), Catalog(at: folder.file("indexed")))
        #expect(try await imported.verify().isEmpty)
        let options = SearchOptions(bounds: .none)
        for number in 0..<5 {
            let (image, _) = CoverFixture.photograph(of: number)
            let expected = try await indexed.search(matching: image, options: options)
            #expect(expected.first.map { $0.inlierCount > 0 } ?? false)
            #expect(try await imported.search(matching: image, options: options) == expected)
            let thumbnail = try await indexed.storedThumbnail(for: "c\(number)")
            #expect(try await imported.storedThumbnail(for: "c\(number)") == thumbnail)
        }
        // Rows without either, and rows that cannot be used.
        let some = try files(features: [nil] + features.dropFirst(), thumbnails: thumbnails.dropLast() + [nil])
        #expect(try CatalogIndexer(at: catalog).index(some).updated == 2)
        #expect(try await imported.info.entitiesWithLocalFeatures == 4)
        #expect(try await imported.storedThumbnail(for: "c4") == nil)
        func problem(_ features: [Data?], _ thumbnails: [Data?]) -> String {
            do {
                _ = try files(features: features, thumbnails: thumbnails)
                return "none"
            } catch {
                return "\(error)".replacing(folder.url.path + "/", with: "")
            }
        }
        let bad = features.map { $0?.dropLast() }
        #expect(
            problem(bad, thumbnails) == "features: row 0, counted from 0, has no local features that can be read")
        #expect(
            problem(features, [thumbnails[0], Data([1])]) == "thumbnails: row 1, counted from 0, is not a JPEG file")
        #expect(problem(features, Array(thumbnails.dropLast())) == "thumbnails: row 4, counted from 0, is missing")
        #expect(
            problem(features + [nil], thumbnails)
                == "features: row 5, counted from 0, has no row in prints.npy, which has 5")
    }

    @Test func linesByHand() async throws {
        let files = try files(
            [unit(0), unit(1), unit(2)],
            [
                "\u{FEFF}" + #"{"id": 12, "year": 1998, "labels": "one", "image": "a/../b.png"}"#, "  ",
                #"{"id": "x"}"# + "\r",
                #"{"id": "x", "title": null}"#,
            ])
        _ = try CatalogIndexer(at: catalog).index(files)
        let found = try await Catalog(at: catalog).reduceEntities(into: [CatalogEntity]()) { $0.append($1) }
        #expect(
            found == [
                CatalogEntity(id: "12", labels: ["one"], attributes: ["year": "1998"], image: "a/../b.png"),
                CatalogEntity(id: "x", images: ["", ""]),
            ])
    }

    @Test func rowsAndLinesThatCannotBeUsedAreNamed() throws {
        let (a, b, c) = (#"{"id": "a"}"#, #"{"id": "b"}"#, #"{"id": "c"}"#)
        var row = unit(3)
        #expect(
            problem([unit(0), unit(1)], [a, b, c])
                == "entities.jsonl:3: has no row in \(folder.url.path)/prints.npy, which has 2 rows"
                .replacing(folder.url.path + "/", with: ""))
        #expect(
            problem([unit(0), unit(1)], [a])
                == "prints.npy: row 1, counted from 0, has no line in entities.jsonl, which has 1 lines of 2")
        row[7] = .nan
        #expect(problem([unit(0), row], [a, b]) == "prints.npy: row 1, counted from 0, has nan in column 7")
        row[7] = -.infinity
        #expect(problem([row], [a]) == "prints.npy: row 0, counted from 0, has -inf in column 7")
        row[7] = 1
        #expect(problem([row], [a]).hasPrefix("prints.npy: row 0, counted from 0, has the norm 1.41"))
        #expect(problem([unit(0), unit(1)], [a, "{"]) == "entities.jsonl:2: is not a JSON object")
        #expect(
            problem([unit(0)], [#"{"id": "a", "id": "b"}"#]) == "entities.jsonl:1: has the key “id” twice")
        #expect(problem([unit(0)], [#"{"image": "x"}"#]) == "entities.jsonl:1: has no id")
        #expect(problem([unit(0)], [#"{"id": "x\u0000"}"#]) == "entities.jsonl:1: contains a NUL character")
        #expect(
            problem([unit(0), unit(1), unit(2)], [a, b, a])
                == "entities.jsonl:3: has the same id “a” as line 1; images of one entity follow each other")
    }

    @Test func otherMatricesAreRefused() throws {
        let lines = try folder.write(#"{"id": "a"}"#, to: "entities.jsonl")
        let matrix = NumPyFile.data([unit(0)], columns: dimension)
        func problem(_ data: Data) throws -> String {
            let url = try folder.write(data, to: "prints.npy")
            let error = #expect(throws: IndexProblem.self) { try PrintFiles(prints: url, entities: lines) }
            return error?.reason ?? ""
        }
        func changed(_ text: String, to other: String) throws -> Data {
            let range = try #require(matrix.range(of: Data(text.utf8)))
            #expect(text.utf8.count == other.utf8.count)
            var changed = matrix
            changed.replaceSubrange(range, with: Data(other.utf8))
            return changed
        }
        #expect(try problem(matrix.dropLast()) == "row 0, counted from 0, is missing: the file is truncated")
        #expect(try problem(Data("PK".utf8)) == "is not a NumPy file (.npy)")
        #expect(try problem(changed(to: "<f8")).contains("“<f8”, not float32"))
        #expect(try problem(changed("False", to: "True ")).contains("Fortran order"))
        #expect(try problem(changed("(1, ", to: "(1)#")).contains("is not a matrix"))
        func changed(to type: String) throws -> Data { try changed("<f4", to: type) }
        let url = try folder.write(NumPyFile.data([[1, 0]], columns: 2), to: "narrow.npy")
        let files = try PrintFiles(prints: url, entities: lines)
        let indexer = try CatalogIndexer(at: catalog)
        let error = #expect(throws: IndexProblem.self) { try indexer.index(files) }
        #expect(error?.reason.contains("its rows have 2 components") ?? false)
    }
}
