import CatalogStore
import Catalogs
import Foundation
import GRDB
import Synchronization
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

    /// SQLite waits for the writer of a pipe forever.
    @Test(arguments: ["", "-wal", "-shm"]) func pipesInThePlaceOfTheDatabase(suffix: String) throws {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        let path = fixture.catalog.appendingPathComponent("catalog.sqlite").path + suffix
        try? FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        let reason = CatalogError.Reason.damaged("catalog.sqlite\(suffix) is a pipe")
        let error = CatalogError(subject: fixture.catalog.path, reason: reason)
        #expect(throws: error) { _ = try Catalog(at: fixture.catalog) }
        #expect(throws: error) { _ = try CatalogIndexer(at: fixture.catalog) }
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

    /// A catalog whose index cannot be written, not even by the superuser. SQLite then opens it for reading, for all
    /// connections of the process.
    private static func withReadOnlyIndex() throws -> CatalogFixture {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        try FileManager.default.removeItem(at: index(fixture))
        try FileManager.default.createDirectory(at: index(fixture), withIntermediateDirectories: false)
        return fixture
    }

    /// A catalog whose index cannot be opened: SQLite does not follow links to indexes. The file is read alone.
    private static func withoutIndex() throws -> CatalogFixture {
        let fixture = try CatalogFixture(count: 1)
        try fixture.index()
        try FileManager.default.removeItem(at: index(fixture))
        try blockIndex(of: fixture)
        return fixture
    }

    private static func blockIndex(of fixture: CatalogFixture) throws {
        try FileManager.default.createSymbolicLink(atPath: index(fixture).path, withDestinationPath: "nowhere")
    }

    /// Sets the title of all entities of a catalog without an index, as another process does. Closes the database, so
    /// that there is neither a log nor an index afterwards.
    private static func changeTitles(of fixture: CatalogFixture, to title: String) throws {
        try FileManager.default.removeItem(at: index(fixture))
        let path = fixture.catalog.appendingPathComponent("catalog.sqlite").path
        let writer = try DatabaseQueue(path: path)
        try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        try writer.write { try $0.execute(sql: "UPDATE entity SET title = ?", arguments: [title]) }
        try writer.close()
    }

    private static func title(_ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT title FROM entity")
    }

    @Test func aReaderThatCouldNotWriteTheIndexDoesNotKeepAWriterFromWriting() async throws {
        let fixture = try Self.withReadOnlyIndex()
        let readers = try (0..<2).map { _ in try Catalog(at: fixture.catalog) }
        #expect(throws: CatalogError.self) { try CatalogIndexer(at: fixture.catalog) }
        // They have the index open again.
        for reader in readers { #expect(try await reader.entities(for: ["new"]).isEmpty) }
        try FileManager.default.removeItem(at: Self.index(fixture))
        try await CatalogIndexer(at: fixture.catalog).upsert(
            IndexItem(CatalogEntity(id: "new"), image: .pixels(SampleImage.shapes(seed: 1))))
        for reader in readers { #expect(try await reader.entities(for: ["new"]).count == 1) }
    }

    @Test func readsThatFollowOneAnotherDoNotKeepAWriterFromWriting() throws {
        let fixture = try Self.withReadOnlyIndex()
        let readers = try (0..<2).map { _ in try CatalogReader(opening: fixture.catalog) }
        let start = DispatchSemaphore(value: 0)
        let isDone = Atomic(false)
        let failures = Mutex<[any Error]>([])
        let group = DispatchGroup()
        // Two threads for each reader: there is always a read under way.
        for index in 0..<4 {
            Thread.detach(in: group) {
                defer { start.signal() }
                do {
                    while !isDone.load(ordering: .relaxed) {
                        try readers[index / 2].read { db in for _ in 0..<100 { _ = try Self.title(db) } }
                        start.signal()
                    }
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
        }
        for _ in 0..<4 { start.wait() }
        let removal = Result { try FileManager.default.removeItem(at: Self.index(fixture)) }
        #expect(throws: Never.self) { _ = try CatalogIndexer(at: fixture.catalog) }
        isDone.store(true, ordering: .relaxed)
        group.wait()
        try removal.get()
        #expect(failures.withLock { $0 }.isEmpty)
    }

    /// It went on with files that had no name any more.
    @Test func aFolderThatIsMovedOrReplacedIsNoticed() async throws {
        let fixture = try CatalogFixture(count: 2)
        try fixture.index()
        let other = try CatalogFixture(count: 1)
        try other.index()
        let (url, aside) = (fixture.catalog, fixture.catalog.appendingPathExtension("aside"))
        let catalog = try Catalog(at: url)
        let ids = [fixture.id(0), fixture.id(1)]
        let image = SampleImage.blocks(seed: 0)
        #expect(try await catalog.search(matching: image).map(\.id) == [ids[0]])
        try FileManager.default.moveItem(at: url, to: aside)
        let missing = CatalogError(subject: url.path, reason: .missing)
        await #expect(throws: missing) { try await catalog.entities(for: ids) }
        await #expect(throws: CatalogError.self) { try await catalog.search(matching: image) }
        await #expect(throws: missing, "an image of nothing in it") {
            try await catalog.search(matching: SampleImage.shapes(seed: 900))
        }
        try FileManager.default.copyItem(at: other.catalog, to: url)
        let replaced = await #expect(throws: CatalogError.self) { try await catalog.entities(for: ids) }
        #expect(replaced?.description.contains("another catalog is at its path now") == true)
        // A copy of the same catalog is read on, with what has changed in it.
        try FileManager.default.removeItem(at: url)
        try CatalogIndexer(at: aside).removeAll([ids[0]])
        try FileManager.default.copyItem(at: aside, to: url)
        #expect(try await catalog.entities(for: ids).map(\.id) == [ids[1]])
        #expect(try await catalog.search(matching: image).isEmpty)
    }

    @Test func aReaderWithoutLogAndIndexSeesLaterChanges() async throws {
        let fixture = try Self.withoutIndex()
        let reader = try Catalog(at: fixture.catalog)
        #expect(try await reader.entities(for: ["new"]).isEmpty)
        try FileManager.default.removeItem(at: Self.index(fixture))
        let indexer = try CatalogIndexer(at: fixture.catalog)
        for (seed, id) in ["new", "newer"].enumerated() {
            let image = SampleImage.shapes(seed: UInt64(seed))
            try await indexer.upsert(IndexItem(CatalogEntity(id: id), image: .pixels(image)))
            #expect(try await reader.entities(for: [id]).count == 1)
            #expect(try await reader.search(matching: image).map(\.id) == [id])
        }
    }

    @Test func aReaderSeesChangesEvenIfTheLogIsEmptyAgain() throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        try Self.changeTitles(of: fixture, to: "new")
        #expect(try reader.read(Self.title) == "new")
    }

    /// On Linux before 6.13 the times of two changes may be the same.
    @Test func aReaderSeesAChangeThatFollowsAnotherAtOnce() throws {
        let fixture = try Self.withoutIndex()
        for change in 0..<20 {
            let reader = try CatalogReader(opening: fixture.catalog)
            try Self.changeTitles(of: fixture, to: "\(change)")
            try Self.blockIndex(of: fixture)
            #expect(try reader.read(Self.title) == "\(change)")
        }
    }

    @Test func aReaderSeesChangesWhileAnEarlierReadIsUnderWay() throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        var titles: [String?] = []
        try reader.withConnection { _ in
            guard titles.isEmpty else { return }
            try Self.changeTitles(of: fixture, to: "new")
            titles.append(try reader.read(Self.title))
        }
        #expect(titles == ["new"])
    }

    /// Pages of two states may look like a damaged database.
    @Test(arguments: [nil, ResultCode.SQLITE_CORRUPT]) func aReadDuringAChangeIsRepeated(failure: ResultCode?) throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        var calls = 0
        let title = try reader.read { db in
            calls += 1
            if calls == 1 {
                try Self.changeTitles(of: fixture, to: "new")
                if let failure { throw DatabaseError(resultCode: failure) }
            }
            return try Self.title(db)
        }
        #expect(title == "new")
        #expect(calls == 2)
    }

    @Test func aReadDuringOneChangeAfterAnotherFails() throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        var calls = 0
        #expect(throws: CatalogError(subject: fixture.catalog.path, reason: .busy)) {
            try reader.read { db in
                calls += 1
                try Self.changeTitles(of: fixture, to: "\(calls)")
                try Self.blockIndex(of: fixture)
            }
        }
        #expect(calls == 3)
    }

    /// The body has side effects, so it is not repeated.
    @Test func aStreamOfEntitiesDuringAChangeFails() async throws {
        let fixture = try Self.withoutIndex()
        let catalog = try Catalog(at: fixture.catalog)
        let calls = Atomic(0)
        await #expect(throws: CatalogError(subject: fixture.catalog.path, reason: .busy)) {
            try await catalog.forEachEntity { _ in
                calls.add(1, ordering: .relaxed)
                try Self.changeTitles(of: fixture, to: "new")
            }
        }
        #expect(calls.load(ordering: .relaxed) == 1)
        #expect(try await catalog.entities(for: [fixture.id(0)]).map(\.title) == ["new"])
    }

    @Test func errorsOfTheBodyPassDuringAChange() async throws {
        struct Stop: Error {}
        let fixture = try Self.withoutIndex()
        let catalog = try Catalog(at: fixture.catalog)
        await #expect(throws: Stop.self) {
            try await catalog.forEachEntity { _ in
                try Self.changeTitles(of: fixture, to: "new")
                throw Stop()
            }
        }
    }

    @Test func cancellationPassesDuringAChange() throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        var calls = 0
        #expect(throws: CancellationError.self) {
            try reader.read { _ in
                calls += 1
                try Self.changeTitles(of: fixture, to: "new")
                throw CancellationError()
            }
        }
        #expect(calls == 1)
    }

    /// Without the check, the copy would be malformed: the backup takes some pages before the change, and some after.
    @Test func aCopyDuringAChangeIsRepeated() throws {
        let fixture = try Self.withoutIndex()
        let reader = try CatalogReader(opening: fixture.catalog)
        let folder = try TemporaryFolder()
        var isChanged = false
        try reader.copyDatabase(to: folder.url, pagesPerStep: 1) {
            guard !isChanged else { return }
            isChanged = true
            try Self.changeTitles(of: fixture, to: String(repeating: "new", count: 10_000))
        }
        // The file is complete without a log.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["catalog.sqlite.new"])
        let copy = try DatabaseQueue(path: folder.file("catalog.sqlite.new").path)
        #expect(try copy.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
        #expect(try copy.read(Self.title)?.count == 30_000)
    }
}

extension Thread {
    /// Runs `body` on a thread of its own. The group waits for it.
    fileprivate static func detach(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
