import Foundation
import GRDB

extension CatalogFolder {
    /// Runs a database operation, and maps its errors to ``CatalogError``.
    func mappingErrors<Result>(_ body: () throws -> Result) throws(CatalogError) -> Result {
        do {
            return try body()
        } catch let error as CatalogError {
            throw error
        } catch let failure as DatabaseError {
            let words = failure.message ?? "\(failure.resultCode)"
            switch failure.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw self.error(.damaged(words))
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: throw self.error(.unwritable(words))
            case .SQLITE_BUSY, .SQLITE_LOCKED: throw self.error(.busy)
            default: throw self.error(.failed(words))
            }
        } catch let failure as RowDecodingError {
            throw self.error(.damaged(failure.summary))
        } catch {
            throw self.error(.failed("\(error)"))
        }
    }
}

extension RowDecodingError {
    /// The value and its row, without the statement that read it.
    var summary: String {
        let description = "\(self)"
        return String(description.prefix(upTo: description.range(of: ", sql: ")?.lowerBound ?? description.endIndex))
    }
}
