import Catalogs
import FeaturePrints
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

/// What `verify` finds in a database that SQLite takes for intact.
struct DatabaseDamageTests {
    private static func change(_ catalog: URL, _ sql: String) throws {
        let database = try DatabaseQueue(path: catalog.appendingPathComponent("catalog.sqlite").path)
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }

    @Test func printsThatWereSwapped() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        try Self.change(
            fixture.catalog,
            """
            CREATE TEMP TABLE copy AS SELECT * FROM print;
            UPDATE print SET vector = (SELECT vector FROM copy WHERE copy.row >> 14 = 3 - (print.row >> 14))
                WHERE row >> 14 < 3;
            """)
        #expect(
            Set(try await Catalog(at: fixture.catalog).verify())
                == Set([0, 2].map { "entity “\(fixture.id($0))”: its print is damaged or another image’s" }))
    }

    @Test func thumbnailsAndFeaturesThatWereDamagedOrLost() async throws {
        let fixture = try CoverFixture(count: 4)
        try Self.change(
            fixture.catalog,
            """
            UPDATE thumbnail SET data = substr(data, 1, length(data) - 1) || x'00' WHERE row >> 14 = 1;
            DELETE FROM thumbnail WHERE row >> 14 = 2;
            UPDATE localFeatures SET data = (SELECT data FROM localFeatures WHERE row >> 14 = 4)
                WHERE row >> 14 = 3;
            DELETE FROM localFeatures WHERE row >> 14 = 4;
            """)
        #expect(
            try await Catalog(at: fixture.catalog).verify() == [
                "entity “c2”: its local features are damaged or another image’s",
                "entity “c3”: its local features are missing",
                "entity “c0”: its thumbnail is damaged or another image’s", "entity “c1”: its thumbnail is missing",
            ])
    }

    /// SQLite's own check looks into the tables of FTS5 since version 3.44 alone.
    @Test(arguments: [
        "DELETE FROM entityText_data WHERE id > 10", "DELETE FROM entityText_docsize WHERE id = 1",
        "UPDATE entityText_data SET block = x'00' WHERE id > 10",
        "INSERT INTO entityText (rowid, title) VALUES (1, 'another title')",
        "UPDATE entity SET words = 'others' WHERE row = 1",
    ])
    func textIndexesThatWereDamaged(sql: String) async throws {
        let fixture = try CoverFixture(count: 2)
        #expect(try await Catalog(at: fixture.catalog).verify().isEmpty)
        try Self.change(fixture.catalog, sql)
        #expect(
            try await Catalog(at: fixture.catalog).verify() == ["the index of the entities’ text does not match them"])
    }

    /// SQLite keeps a value of any type in any column, and JSON may hold values of any kind.
    @Test(arguments: ["7", "x'ff00fe'", "'[1, null'", "'[7, null, {}]'", "1e300"])
    func valuesOfAnotherTypeAreErrors(value: String) async throws {
        let columns = [
            "print.vector", "localFeatures.data", "thumbnail.data", "thumbnail.side", "setting.value", "revision.token",
            "entity.id", "entity.type", "entity.title", "entity.subtitle", "entity.labels", "entity.attributes",
            "entity.images", "entity.words", "image.size", "image.modified", "image.changed", "image.inode",
            "image.contentHash", "image.revision", "image.print",
            "image.localFeatures", "image.thumbnail",
        ]
        let fixture = try CoverFixture(count: 2)
        let query = CoverFixture.cover(0)
        for name in columns {
            let parts = name.split(separator: ".")
            let catalog = fixture.folder.file("damaged-\(name)")
            try await Catalog(at: fixture.catalog).copy(to: catalog)
            try Self.change(
                catalog,
                "UPDATE \(parts[0]) SET \(parts[1]) = \(value) WHERE rowid = (SELECT MAX(rowid) FROM \(parts[0]))")
            await Self.expectErrorsOfTheCatalog(name) { try await Self.readEverything(catalog, query: query) }
            await Self.expectErrorsOfTheCatalog(name) {
                let indexer = try CatalogIndexer(at: catalog)
                _ = try indexer.prune(evenIfAll: true)
            }
        }
    }

    /// Their components are the largest numbers of half precision.
    @Test func printsThatAreTooLongAreErrors() async throws {
        let fixture = try CatalogFixture(count: 3)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let long = String(repeating: "ff7b", count: catalog.model.dimension)
        try Self.change(fixture.catalog, "UPDATE print SET vector = x'\(long)' WHERE row >> 14 = 2")
        await #expect(throws: FeaturePrintError.self) {
            try await catalog.search(catalog.query(similarTo: fixture.id(2)), options: SearchOptions(bounds: .none))
        }
        #expect(try await catalog.verify().first?.contains("its print has the norm") == true)
        try FileManager.default.removeItem(at: fixture.catalog.appendingPathComponent("prints.matrix"))
        let error = #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) }
        #expect(error?.reason == .damaged("a print of row 2 is longer than a unit vector"))
    }

    /// Each would run when the catalog is read or changed, for any time and with any memory.
    @Test(arguments: [
        (
            "setting",
            """
            DROP TABLE setting;
            CREATE VIEW setting AS WITH RECURSIVE endless (key, value) AS
                (SELECT 'a', 'b' UNION ALL SELECT key, value FROM endless) SELECT * FROM endless
            """
        ),
        ("more", "CREATE TRIGGER more AFTER INSERT ON entity BEGIN DELETE FROM print; END"),
        ("entity", "ALTER TABLE entity ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))"),
        (
            "sqlite_stat1",
            """
            ANALYZE; PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = 'CREATE TABLE sqlite_stat1(tbl,idx,stat AS (hex(zeroblob(9))))'
                WHERE name = 'sqlite_stat1'
            """
        ),
        ("more", "CREATE INDEX more ON entity (hex(zeroblob(400000000 + row)))"),
        ("more", "CREATE TABLE more (row INTEGER REFERENCES entity (row) ON DELETE CASCADE)"),
        (
            "entity",
            """
            CREATE TABLE other AS SELECT id, type, title, subtitle, '{' AS labels, attributes, images FROM entity;
            DROP TABLE entity;
            ALTER TABLE other RENAME TO entity
            """
        ),
    ])
    func whatNoCatalogHasIsNotUsed(name: String, sql: String) throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        try Self.change(fixture.catalog, sql)
        for error in [
            #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) },
            #expect(throws: CatalogError.self) { try CatalogIndexer(at: fixture.catalog) },
        ] {
            guard case .damaged(let words) = error?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(words.contains("“\(name)” is not"), "\(words)")
        }
    }

    /// Both are made anew from a revision on, and had none of these entities; `verify` compared them with themselves.
    @Test func negativeRevisionsHideNoEntities() async throws {
        let fixture = try CoverFixture(count: 3)
        try Self.change(fixture.catalog, "UPDATE image SET revision = -5 WHERE row >> 14 = 2")
        for name in ["prints.matrix", "features.lists"] {
            try FileManager.default.removeItem(at: fixture.catalog.appendingPathComponent(name))
        }
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.count == 3)
        #expect(try await catalog.verify() == ["entity “c1”: its revision is not one of the catalog’s"])
        #expect(
            try await catalog.search(matching: CoverFixture.cover(1), options: SearchOptions(limit: 1)).map(\.id) == [
                "c1"
            ])
    }

    /// As a writer that was killed leaves the matrix: a page lost a match, and was taken for the last one.
    @Test func pagesGoOnAfterEntitiesThatAreGone() async throws {
        let fixture = try CatalogFixture(count: 6)
        try fixture.index()
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: PixelBuffer(contentsOf: fixture.path(0)))
        let all = try await catalog.search(query, options: SearchOptions(bounds: .none)).map(\.id)
        try Self.change(
            fixture.catalog, "DELETE FROM entity WHERE id IN ('\(all[1])', '\(all[2])', '\(all[3])')")
        var found: [String] = []
        for try await page in catalog.pages(of: query, options: SearchOptions(limit: 2, bounds: .none)) {
            found += page.map(\.id)
        }
        #expect(found == [all[0], all[4], all[5]])
        #expect(
            try await catalog.search(query, options: SearchOptions(limit: 2, bounds: .none)).map(\.id) == [
                all[0], all[4],
            ])
    }

    @Test func statisticsAreNoDamage() throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let database = try DatabaseQueue(path: fixture.catalog.appendingPathComponent("catalog.sqlite").path)
        try database.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") }
        try database.close()
        #expect(try Catalog(at: fixture.catalog).count == 2)
        #expect(try fixture.index().unchanged == 2)
    }

    @Test func aMissingTableIsNamed() throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        try Self.change(fixture.catalog, "DROP TABLE thumbnail")
        let error = #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) }
        #expect(error?.reason == .damaged("“thumbnail” is missing"))
    }

    @Test func verifyNamesValuesOfAnotherType() async throws {
        let fixture = try CoverFixture(count: 4)
        try Self.change(
            fixture.catalog,
            """
            UPDATE print SET vector = 7 WHERE row >> 14 = 1;
            UPDATE entity SET labels = '{' WHERE row = 2;
            UPDATE entity SET attributes = '[]' WHERE row = 3;
            UPDATE localFeatures SET data = 7 WHERE row >> 14 = 4;
            """)
        let catalog = try Catalog(at: fixture.catalog)
        let problems = try await catalog.verify()
        try #require(problems.count == 4, "\(problems)")
        #expect(problems[0].hasPrefix("row 2 of its entities cannot be read: "))
        #expect(problems[1].hasPrefix("row 3 of its entities cannot be read: "))
        #expect(problems[2] == "entity “c0”: its print is not \(catalog.model.dimension) finite floats")
        #expect(problems[3] == "entity “c3”: its local features are missing")
        let error = await #expect(throws: CatalogError.self) { try await catalog.entities(for: ["c2"]) }
        guard case .damaged(let reason) = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!reason.contains("SELECT"))
    }

    private static func expectErrorsOfTheCatalog(_ column: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            #expect(error is CatalogError || error is ImageError, "\(column): \(error)")
        }
    }

    /// Every way to read a catalog; one error does not keep the others from being tried.
    private static func readEverything(_ url: URL, query: PixelBuffer) async throws {
        let catalog = try Catalog(at: url)
        var failures: [any Error] = []
        func attempt<Result>(_ body: () async throws -> Result) async {
            do { _ = try await body() } catch { failures.append(error) }
        }
        await attempt { try await catalog.verify() }
        await attempt { try await catalog.info }
        await attempt { try await catalog.entities(for: ["c0", "c1"]) }
        await attempt { try await catalog.reduceEntities(into: 0) { count, _ in count += 1 } }
        for id in ["c0", "c1"] {
            await attempt {
                try await catalog.search(catalog.query(similarTo: id), options: SearchOptions(bounds: .none))
            }
            await attempt { try await catalog.thumbnail(for: id) }
        }
        await attempt { try await catalog.search(text: "l1") }
        await attempt { try await catalog.suggestions(for: "l") }
        await attempt { try await catalog.search(matching: query, options: SearchOptions(bounds: .none)) }
        let print = try await catalog.query(for: [catalog.model.featurePrint(for: query)])
        for key in [EntityField.type, .label, .attribute("year")] {
            await attempt { try await catalog.facets(of: print, by: [key], options: SearchOptions(bounds: .none)) }
        }
        await attempt { try await catalog.export(to: url.appendingPathComponent("export")) }
        for failure in failures { #expect(failure is CatalogError || failure is ImageError, "\(failure)") }
        if let failure = failures.first { throw failure }
    }
}
