import Foundation
import GRDB

/// A file that is made from the database. A new one is written beside the old one and renamed, so that there is a
/// complete file at the path at any time.
struct DerivedFile {
    private let url: URL
    private let database: CatalogDatabase

    init(_ url: URL, of database: CatalogDatabase) {
        self.url = url
        self.database = database
    }

    /// Replaces the file by one that `write` makes at another path, within one read of the database.
    func replace(_ write: (Database, URL) throws -> Void) throws(CatalogError) {
        let folder = database.folder
        removeLeftovers()
        let suffix = "\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
        let temporary = folder.url.appendingPathComponent("\(url.lastPathComponent).\(suffix)")
        do {
            try folder.mappingErrors {
                try database.reader.read { db in try write(db, temporary) }
                guard rename(temporary.path, url.path) == 0 else {
                    throw folder.error(.unwritable(String(cString: strerror(errno))))
                }
            }
        } catch {
            unlink(temporary.path)
            throw error
        }
    }

    /// Removes the files of processes that were killed.
    private func removeLeftovers() {
        let (folder, prefix) = (database.folder.url, url.lastPathComponent + ".")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            guard name.hasPrefix(prefix), name.hasSuffix(".part"),
                let process = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({ Int32($0) }),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unlink(folder.appendingPathComponent(name).path)
        }
    }
}
