import Catalogs
import Foundation
import GRDB
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
            UPDATE print SET vector = (SELECT vector FROM copy WHERE copy.row = 3 - print.row) WHERE row < 3;
            """)
        #expect(
            Set(try await Catalog(at: fixture.catalog).verify())
                == Set([0, 2].map { "entity “\(fixture.id($0))”: its print is damaged or another entity’s" }))
    }

    @Test func thumbnailsAndFeaturesThatWereDamagedOrLost() async throws {
        let fixture = try CoverFixture(count: 4)
        try Self.change(
            fixture.catalog,
            """
            UPDATE thumbnail SET data = substr(data, 1, length(data) - 1) || x'00' WHERE row = 1;
            DELETE FROM thumbnail WHERE row = 2;
            UPDATE localFeatures SET data = (SELECT data FROM localFeatures WHERE row = 4) WHERE row = 3;
            DELETE FROM localFeatures WHERE row = 4;
            """)
        #expect(
            try await Catalog(at: fixture.catalog).verify() == [
                "entity “c2”: its local features are damaged or another entity’s",
                "entity “c3”: its local features are missing",
                "entity “c0”: its thumbnail is damaged or another entity’s", "entity “c1”: its thumbnail is missing",
            ])
    }

    /// A catalog as the version before wrote it.
    @Test func anEarlierCatalogIsMigrated() async throws {
        let fixture = try CatalogFixture(count: 4)
        try fixture.index()
        try Self.change(
            fixture.catalog,
            """
            INSERT INTO setting (key, value) VALUES ('revision', '7');
            DROP TABLE checksum;
            DROP TABLE revision;
            DELETE FROM grdb_migrations WHERE identifier = '4';
            """)
        let error = #expect(throws: CatalogError.self) { try Catalog(at: fixture.catalog) }
        #expect(error?.reason == .earlierVersion)
        #expect(try fixture.index().unchanged == 4)
        let catalog = try Catalog(at: fixture.catalog)
        #expect(try await catalog.info.revision == 7 && catalog.count == 4)
        #expect(try await catalog.verify().isEmpty)
        try Self.change(fixture.catalog, "UPDATE thumbnail SET data = x'00' WHERE row = 1")
        #expect(try await catalog.verify().count == 1, "what was there is protected too")
    }
}
