import Catalogs
import Foundation
import GRDB
import TestSupport
import Testing

struct CatalogReaderTests {
    /// Counts calls, and fails in the first ones.
    private final class Reading {
        private(set) var calls = 0
        private(set) var pauses = 0
        let failures: Int
        let code: ResultCode

        init(failures: Int, code: ResultCode) { (self.failures, self.code) = (failures, code) }

        func read() throws -> Int {
            try CatalogReader.waitingForRecovery(attempts: 5, pause: { pauses += 1 }) {
                calls += 1
                if calls <= failures { throw DatabaseError(resultCode: code) }
                return calls
            }
        }
    }

    @Test func aReaderWithoutWriteAccessWaitsForTheWriterToRecover() throws {
        let reading = Reading(failures: 3, code: .SQLITE_READONLY_RECOVERY)
        #expect(try reading.read() == 4)
        #expect(reading.pauses == 3)
    }

    @Test func itDoesNotWaitForever() {
        let reading = Reading(failures: .max, code: .SQLITE_READONLY_RECOVERY)
        #expect(throws: DatabaseError.self) { try reading.read() }
        #expect(reading.calls == 5 && reading.pauses == 4)
    }

    @Test(arguments: [ResultCode.SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_BUSY, .SQLITE_CORRUPT])
    func otherErrorsAreThrownAtOnce(code: ResultCode) {
        let reading = Reading(failures: .max, code: code)
        #expect(throws: DatabaseError.self) { try reading.read() }
        #expect(reading.calls == 1 && reading.pauses == 0)
    }

    /// The index of a catalog's log.
    private static func index(_ fixture: CatalogFixture) -> URL {
        fixture.catalog.appendingPathComponent("catalog.sqlite-shm")
    }

    /// SQLite opens an index that it cannot write for reading, for all connections of the process. A folder in its
    /// place is one that even the superuser cannot write.
    @Test func aReaderThatCouldNotWriteTheIndexDoesNotKeepAWriterFromWriting() async throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        let index = Self.index(fixture)
        try FileManager.default.removeItem(at: index)
        try FileManager.default.createDirectory(at: index, withIntermediateDirectories: false)
        let readers = try (0..<2).map { _ in try Catalog(at: fixture.catalog) }
        #expect(throws: CatalogError.self) { try CatalogIndexer(at: fixture.catalog) }
        try FileManager.default.removeItem(at: index)
        try await CatalogIndexer(at: fixture.catalog).upsert(
            IndexItem(CatalogEntity(id: "new"), image: .pixels(SampleImage.shapes(seed: 1))))
        for reader in readers { #expect(try await reader.entities(for: ["new"]).count == 1) }
    }

    /// Such a reader reads the database's file alone.
    @Test func aReaderWithoutLogAndIndexSeesLaterChanges() async throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        let index = Self.index(fixture)
        try FileManager.default.removeItem(at: index)
        // SQLite does not follow links to indexes.
        try FileManager.default.createSymbolicLink(atPath: index.path, withDestinationPath: "nowhere")
        let reader = try Catalog(at: fixture.catalog)
        #expect(try await reader.entities(for: ["new"]).isEmpty)
        try FileManager.default.removeItem(at: index)
        let indexer = try CatalogIndexer(at: fixture.catalog)
        for (seed, id) in ["new", "newer"].enumerated() {
            let image = SampleImage.shapes(seed: UInt64(seed))
            try await indexer.upsert(IndexItem(CatalogEntity(id: id), image: .pixels(image)))
            #expect(try await reader.entities(for: [id]).count == 1)
            #expect(try await reader.search(matching: image).map(\.id) == [id])
        }
    }
}
