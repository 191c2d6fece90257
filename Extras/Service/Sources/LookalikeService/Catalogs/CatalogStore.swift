import Foundation
import Logging
import Lookalike
import Synchronization

/// The catalogs below a folder, opened when they are first asked for.
final class CatalogStore: Sendable {
    let root: URL
    private let logger: Logger
    private let served = Mutex<[CatalogName: ServedCatalog]>([:])
    /// Opening, making and removing catalogs is done one at a time.
    private let turn = AsyncTurn()

    init(root: URL, logger: Logger) {
        self.root = root
        self.logger = logger
    }

    /// The names of the catalogs, in their order. O(files below the folder).
    func names() throws -> [CatalogName] {
        try FileManager.default.contentsOfDirectory(atPath: root.path).compactMap { CatalogName($0) }
            .filter { Self.isCatalog(url(of: $0)) }
            .sorted { $0.description < $1.description }
    }

    /// The open catalog of a name.
    ///
    /// - Throws: ``Problem`` for an unknown name, and `CatalogError`.
    func catalog(_ name: CatalogName) async throws -> ServedCatalog {
        if let known = served.withLock({ $0[name] }) { return known }
        return try await turn.run {
            if let known = self.served.withLock({ $0[name] }) { return known }
            guard Self.isCatalog(self.url(of: name)) else { throw Self.unknown(name) }
            return try await self.open(name)
        }
    }

    /// Makes an empty catalog, unless there is one of that name.
    ///
    /// - Returns: the catalog, and whether it is new.
    func create(_ name: CatalogName, localFeatures: Bool) async throws -> (catalog: ServedCatalog, isNew: Bool) {
        if let known = try? await catalog(name) { return (known, false) }
        return try await turn.run {
            if Self.isCatalog(self.url(of: name)) { return (try await self.open(name), false) }
            let url = self.url(of: name)
            let indexer = try await computing { try CatalogIndexer(at: url, localFeatures: localFeatures) }
            // Makes the derived files of no entities.
            _ = try await indexer.run(over: []).report()
            return (try await self.open(name, indexer: indexer), true)
        }
    }

    /// Removes a catalog with all it has. Searches that run end with what they have read.
    ///
    /// - Throws: ``Problem`` for an unknown name, and if another process is writing to it.
    func remove(_ name: CatalogName) async throws {
        try await turn.run {
            guard Self.isCatalog(self.url(of: name)) else { throw Self.unknown(name) }
            let catalog = try await self.served.withLock({ $0[name] }).orOpen { try await self.open(name) }
            // Waits for what is being written, and keeps other processes away.
            try await catalog.writer.closeForGood()
            self.served.withLock { $0[name] = nil }
            try self.discard(self.url(of: name))
        }
    }

    /// Puts a folder with a catalog in the place of the one of that name, if there is one.
    func replace(_ name: CatalogName, with folder: URL) async throws {
        try await turn.run {
            let url = self.url(of: name)
            if Self.isCatalog(url) {
                let catalog = try await self.served.withLock({ $0[name] }).orOpen { try await self.open(name) }
                try await catalog.writer.closeForGood()
                self.served.withLock { $0[name] = nil }
                try self.discard(url)
            }
            try FileManager.default.moveItem(at: folder, to: url)
            _ = try await self.open(name)
        }
    }

    /// A folder for work, on the same disk as the catalogs; its name is no catalog's.
    func makeTemporaryFolder() throws -> URL {
        let url = root.appendingPathComponent(".work-\(getpid())-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Removes what processes that were killed left.
    func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        where name.hasPrefix(".work-") {
            guard let process = name.split(separator: "-").dropFirst().first.flatMap({ Int32($0) }),
                process == getpid() || (kill(process, 0) != 0 && errno == ESRCH)
            else { continue }
            try? FileManager.default.removeItem(at: root.appendingPathComponent(name))
        }
    }

    /// Opens all catalogs, so that the first request finds them open. One that cannot be opened is logged.
    func openAll() async {
        for name in (try? names()) ?? [] {
            do {
                let catalog = try await catalog(name)
                logger.info("catalog", metadata: ["name": "\(name)", "entities": "\(catalog.catalog.count)"])
            } catch {
                logger.error("catalog cannot be opened", metadata: ["name": "\(name)", "error": "\(error)"])
            }
        }
    }

    /// Ends all writing.
    func close() async {
        for catalog in served.withLock({ Array($0.values) }) { await catalog.writer.close() }
    }

    private func open(_ name: CatalogName, indexer: CatalogIndexer? = nil) async throws -> ServedCatalog {
        let url = url(of: name)
        let served = ServedCatalog(
            name: name, catalog: try await Self.migrated(url), writer: CatalogWriter(url: url, indexer: indexer))
        self.served.withLock { $0[name] = served }
        return served
    }

    /// Opens a catalog, also one that an earlier version wrote.
    private static func migrated(_ url: URL) async throws -> Catalog {
        do {
            return try await Catalog.open(at: url)
        } catch let error as CatalogError where error.reason == .earlierVersion {
            // A writer brings the database up to date, and an empty run the derived files.
            let indexer = try await computing { try CatalogIndexer(at: url) }
            _ = try await indexer.run(over: []).report()
            return try await Catalog.open(at: url)
        }
    }

    /// Removes a folder so that none of it is left under its name, however early the process ends.
    private func discard(_ url: URL) throws {
        let work = try makeTemporaryFolder()
        try FileManager.default.moveItem(at: url, to: work.appendingPathComponent("removed"))
        try FileManager.default.removeItem(at: work)
    }

    private func url(of name: CatalogName) -> URL { root.appendingPathComponent(name.description) }

    private static func isCatalog(_ url: URL) -> Bool {
        FileManager.default.fileExists(atPath: url.appendingPathComponent("catalog.sqlite").path)
    }

    private static func unknown(_ name: CatalogName) -> Problem {
        Problem(.unknownCatalog, "There is no catalog “\(name)”.")
    }
}

extension Optional where Wrapped: Sendable {
    fileprivate func orOpen(_ open: () async throws -> Wrapped) async throws -> Wrapped {
        if let self { return self }
        return try await open()
    }
}

/// Computes, reads or writes files on the threads for that, and not on those of Swift's tasks.
func computing<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(ComputeExecutor.shared) { try body() }
}
