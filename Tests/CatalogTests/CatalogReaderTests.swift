import Catalogs
import GRDB
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
}
