#if Service
public import Foundation
public import Logging
public import Lookalike
import Synchronization

/// The catalogs below a folder, or those that databases elsewhere keep, opened when they are first asked for.
@_spi(Service) public final class CatalogStore: Sendable {
    let root: URL
    private let logger: Logger
    private let writerIdleTime: Duration
    private let mostOpen: Int
    private let decoding: DecodingOptions
    private let imageMemory: MemoryLane
    private let willChange: @Sendable (CatalogName) -> @Sendable (Bool) -> Void
    private let remotes: [CatalogName: @Sendable () async throws -> any SearchableCatalog]
    private let state = Mutex(State())
    /// Catalogs are opened, made, replaced and removed one at a time.
    private let turn = WorkPool(places: 1)

    private struct State {
        var open: [CatalogName: ServedCatalog] = [:]
        /// Catalogs that were closed since nobody used them.
        var closed: [CatalogName: ClosedCatalog] = [:]
        /// How often the catalog of a name was swapped.
        var swapCounts: [CatalogName: Int] = [:]
        /// Catalogs whose last opening failed.
        var failed: Set<CatalogName> = []
        /// Catalogs of databases elsewhere that are being opened: requests for one wait together.
        var opening: [CatalogName: Task<ServedCatalog, any Error>] = [:]
    }

    /// - Parameters:
    ///   - writerIdleTime: how long after a change other processes may not write.
    ///   - mostOpen: the catalogs that are open at once, besides those that are being written to.
    ///   - decoding: the limits of images that are indexed.
    ///   - imageMemory: where the memory for their pixels comes from.
    ///   - willChange: called before a catalog is made, changed, replaced or removed. What it returns is called
    ///     afterwards, with whether that was done.
    ///   - remotes: how to open catalogs that databases elsewhere keep; with any, there are no others.
    @_spi(Service) public init(
        root: URL, logger: Logger, writerIdleTime: Duration = .seconds(5), mostOpen: Int = .max,
        decoding: DecodingOptions = DecodingOptions(), imageMemory: MemoryLane = MemoryLane(size: .max),
        remotes: [CatalogName: @Sendable () async throws -> any SearchableCatalog] = [:],
        willChange: @escaping @Sendable (CatalogName) -> @Sendable (Bool) -> Void = { _ in { _ in } }
    ) {
        self.root = root
        self.logger = logger
        self.writerIdleTime = writerIdleTime
        self.mostOpen = mostOpen
        self.decoding = decoding
        self.imageMemory = imageMemory
        self.willChange = willChange
        self.remotes = remotes
    }

    /// The number of catalogs that are open.
    @_spi(Service) public var openCount: Int { state.withLock { $0.open.count } }

    /// The catalogs whose last opening failed, in their order.
    var failed: [CatalogName] { state.withLock { $0.failed.sorted { $0.description < $1.description } } }

    /// The names of the catalogs, in their order. O(files below the folder).
    func names() throws -> [CatalogName] {
        if !remotes.isEmpty { return remotes.keys.sorted { $0.description < $1.description } }
        return try FileManager.default.contentsOfDirectory(atPath: root.path).compactMap { CatalogName($0) }
            .filter { Self.isCatalog(url(of: $0)) }
            .sorted { $0.description < $1.description }
    }

    /// The open catalog of a name.
    ///
    /// - Throws: ``Problem`` for an unknown name, and `CatalogError`.
    func catalog(_ name: CatalogName) async throws -> ServedCatalog {
        if let known = known(name), known.isInPlace { return known }
        if !remotes.isEmpty { return try await openRemote(name) }
        return try await turn.run {
            if let known = self.known(name) {
                if known.isInPlace { return known }
                self.logger.notice("a catalog's folder was moved or replaced", metadata: ["name": "\(name)"])
                await known.writer.close()
                self.forget(name)
            }
            guard Self.isCatalog(self.url(of: name)) else {
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: self.root.path, isDirectory: &isFolder), isFolder.boolValue
                else { throw Problem(.storage, "The folder of the catalogs cannot be reached.") }
                self.forget(name)
                throw Self.unknown(name)
            }
            return try await self.open(name)
        }
    }

    /// Opens the catalog of a database elsewhere, or waits for what opens it.
    private func openRemote(_ name: CatalogName) async throws -> ServedCatalog {
        guard let open = remotes[name] else { throw Self.unknown(name) }
        let task = state.withLock { state in
            if let task = state.opening[name] { return task }
            // Not that of one request, which may be cancelled.
            let task = Task {
                defer { self.state.withLock { $0.opening[name] = nil } }
                do {
                    let catalog = try await open()
                    return self.state.withLock { state in
                        // Queries that were kept of it still hold.
                        let id = state.open[name]?.id ?? state.closed[name]?.id ?? UUID()
                        let served = ServedCatalog(
                            name: name, catalog: catalog, writer: CatalogWriter(url: self.url(of: name)), id: id)
                        state.open[name] = served
                        state.closed[name] = nil
                        state.failed.remove(name)
                        return served
                    }
                } catch {
                    // One that was open before is searched on.
                    self.state.withLock { if $0.open[name] == nil { $0.failed.insert(name) } }
                    throw error
                }
            }
            state.opening[name] = task
            return task
        }
        return try await task.value
    }

    /// Opens the catalogs of databases elsewhere again that are open.
    func refreshRemotes() async {
        for name in remotes.keys where state.withLock({ $0.open[name] != nil }) {
            do {
                _ = try await openRemote(name)
            } catch {
                logger.warning("catalog cannot be opened again", metadata: ["name": "\(name)", "error": "\(error)"])
            }
        }
    }

    /// The open catalog of a name, marked as used now.
    private func known(_ name: CatalogName) -> ServedCatalog? {
        let known = state.withLock { $0.open[name] }
        known?.use()
        return known
    }

    private func forget(_ name: CatalogName) {
        state.withLock { state in
            state.open[name] = nil
            state.closed[name] = nil
            state.failed.remove(name)
        }
    }

    /// The number of entities of a catalog, and what its database calls it. One that was closed is opened only if its
    /// folder has changed since.
    ///
    /// - Throws: as ``catalog(_:)``.
    func entry(_ name: CatalogName) async throws -> (count: Int, id: UUID?) {
        if let closed = state.withLock({ $0.closed[name] }), closed.folder == FolderState(url(of: name)) {
            return (closed.count, closed.databaseID)
        }
        let served = try await catalog(name)
        return (served.catalog.count, served.databaseID)
    }

    /// Closes the catalogs that were used least lately.
    ///
    /// - Parameter time: those that were not used since then are closed, too, even if no more than the most are open.
    @_spi(Service) public func closeUnused(since time: ContinuousClock.Instant) async {
        _ = try? await turn.run { await self.closeLeastUsed(since: time) }
    }

    /// A request that still reads a catalog goes on with what it has, and one that changes it has the writer, which the
    /// catalog keeps when it is opened again.
    private func closeLeastUsed(since time: ContinuousClock.Instant?) async {
        let open = state.withLock { Array($0.open.values) }.map { ($0, $0.lastUse) }.sorted { $0.1 < $1.1 }
        var excess = open.count - mostOpen
        for (catalog, use) in open {
            guard excess > 0 || time.map({ use < $0 }) ?? false else { return }
            guard await catalog.writer.releaseIfIdle() else { continue }
            excess -= 1
            let closed = ClosedCatalog(catalog)
            state.withLock { state in
                state.open[catalog.name] = nil
                state.closed[catalog.name] = closed
            }
        }
    }

    /// Reads or changes a catalog. If it is replaced meanwhile, a failed attempt is repeated with the new one.
    ///
    /// - Parameter isSearch: whether an attempt that succeeds is repeated, too: it may have read some of the new files.
    /// - Throws: what `body` throws, and as ``catalog(_:)``.
    func using<Answer: Sendable>(
        _ name: CatalogName, isSearch: Bool = false, _ body: (ServedCatalog) async throws -> Answer
    ) async throws -> Answer {
        while true {
            let served = try await catalog(name)
            do {
                let answer = try await body(served)
                if !isSearch || serves(served) { return answer }
            } catch is CatalogWriter.Closed {
                // Wait until the catalog has been replaced or removed.
                try await turn.run {}
                if state.withLock({ $0.open[name] === served }), await served.writer.isClosed {
                    throw Problem(.overloaded, "The service is ending; send the request again.")
                }
            } catch {
                if serves(served) { throw error }
            }
        }
    }

    /// Makes an empty catalog, unless there is one of that name.
    ///
    /// - Returns: the catalog, and whether it is new.
    @_spi(Service) public func create(
        _ name: CatalogName, localFeatures: Bool
    ) async throws -> (catalog: ServedCatalog, isNew: Bool) {
        if let known = try? await catalog(name) { return (known, false) }
        return try await turn.run {
            // Another request may have made it meanwhile.
            if let known = self.known(name) { return (known, false) }
            let url = self.url(of: name)
            if Self.isCatalog(url) { return (try await self.open(name), false) }
            let isThere = FileManager.default.fileExists(atPath: url.path)
            let ended = self.willChange(name)
            var isChanged = false
            defer { ended(isChanged) }
            var made: CatalogIndexer?
            do {
                let indexer = try await opening(url) {
                    try await computing {
                        try CatalogIndexer(
                            at: url, localFeatures: localFeatures, limits: decoding,
                            executor: ComputeExecutor.indexing)
                    }
                }
                made = indexer
                // The run makes the derived files of no entities.
                _ = try await indexer.run(over: []).report()
                let catalog = try await self.open(name, indexer: indexer)
                isChanged = true
                return (catalog, true)
            } catch {
                // If another process is writing, it is making the catalog. A catalog without its derived files, for
                // which a disk may have no space, is not what was asked for.
                let isOwn = made != nil || Catalog.state(of: url) == .unfinished
                if (error as? CatalogError)?.reason != .busy, !isThere, isOwn {
                    try? FileManager.default.removeItem(at: url)
                    self.forget(name)
                }
                throw error
            }
        }
    }

    /// Removes a catalog with all it has. Searches that run find that it is gone.
    ///
    /// - Throws: ``Problem`` for an unknown name, and if another process is writing to it.
    func remove(_ name: CatalogName) async throws {
        try await turn.run {
            guard Self.isCatalog(self.url(of: name)) else { throw Self.unknown(name) }
            let ended = self.willChange(name)
            var isChanged = false
            defer { ended(isChanged) }
            let closed = try await self.closeForGood(name)
            // The move leaves nothing under the name, however early the process ends. A full disk may have no space
            // for a folder to move it into.
            let removed = WorkFolder(self.workURL())
            try FileManager.default.moveItem(at: self.url(of: name), to: removed.url)
            try Self.synchronize(self.root)
            isChanged = true
            withExtendedLifetime((closed, removed)) {}
        }
    }

    /// Exchanges the names of two catalogs, at one moment: there is a catalog of each name at any time.
    ///
    /// - Parameter check: throws what keeps them from being swapped. It is called again when nothing can be written.
    /// - Throws: ``Problem`` for an unknown name, `CatalogError` if another process is writing to one of them, and an
    ///   error of the file system. Both are then as before.
    func swap(
        _ name: CatalogName, _ other: CatalogName, check: @Sendable () async throws -> Void = {}
    ) async throws {
        try await turn.run {
            for name in [name, other] where !Self.isCatalog(self.url(of: name)) { throw Self.unknown(name) }
            try await check()
            let ends = [name, other].map(self.willChange)
            var isChanged = false
            defer { for ended in ends { ended(isChanged) } }
            let first = try await self.closeForGood(name)
            var failure: (any Error)?
            do {
                let second = try await self.closeForGood(other)
                do {
                    try await check()
                    try Self.exchange(self.url(of: name), self.url(of: other))
                    try Self.synchronize(self.root)
                } catch {
                    failure = error
                }
                await second.release()
            } catch {
                failure = error
            }
            if failure == nil {
                self.state.withLock { for name in [name, other] { $0.swapCounts[name, default: 0] += 1 } }
            }
            await first.release()
            if let failure { throw failure }
            isChanged = true
        }
    }

    /// Puts a folder with a catalog in the place of the catalog of a name, if there is one, finished or not.
    ///
    /// - Parameter check: throws what keeps it from being replaced. It is called again when nothing can be written.
    /// - Throws: an error of the file system, and `CatalogError` if another process is writing. The catalog is then as
    ///   before, also if the process is killed meanwhile.
    func replace(
        _ name: CatalogName, with folder: URL, check: @Sendable () async throws -> Void = {}
    ) async throws {
        try await turn.run {
            try await check()
            let url = self.url(of: name)
            try Self.synchronize(folder)
            let ended = self.willChange(name)
            var isChanged = false
            defer { ended(isChanged) }
            guard Catalog.state(of: url) != .other else {
                try FileManager.default.moveItem(at: folder, to: url)
                try Self.synchronize(self.root)
                isChanged = true
                _ = try await self.open(name)
                return
            }
            let closed = try await self.closeForGood(name)
            try await check()
            let aside = self.asideURL(of: name)
            // A folder that could not be deleted before.
            try? FileManager.default.removeItem(at: aside)
            let lock = FolderLock(url)
            try FileManager.default.moveItem(at: url, to: aside)
            var isMoved = false
            do {
                try FileManager.default.moveItem(at: folder, to: url)
                isMoved = true
                try Self.synchronize(self.root)
            } catch {
                // Anything else that has the name now belongs to another service.
                if isMoved { try? FileManager.default.removeItem(at: url) }
                try FileManager.default.moveItem(at: aside, to: url)
                throw error
            }
            // If the old catalog cannot be deleted now, it is at the next start.
            try? FileManager.default.removeItem(at: aside)
            withExtendedLifetime((closed, lock)) {}
            isChanged = true
            _ = try await self.open(name)
        }
    }

    /// Whether this is the catalog that has its name now. It may have been closed, and opened again.
    func serves(_ catalog: ServedCatalog) -> Bool {
        state.withLock { ($0.open[catalog.name]?.id ?? $0.closed[catalog.name]?.id) == catalog.id }
    }

    /// Waits for what is being written to a catalog, and closes it. A catalog that cannot be opened can still be
    /// replaced or removed.
    ///
    /// - Returns: what keeps other processes from writing while it exists, if the catalog could be opened.
    /// - Throws: `CatalogError` if another process is writing; the catalog is served on then.
    private func closeForGood(_ name: CatalogName) async throws -> CatalogWriter {
        let writer =
            known(name)?.writer ?? state.withLock { $0.closed[name] }?.writer ?? CatalogWriter(url: url(of: name))
        if let error = try await writer.closeForGood() {
            logger.warning(
                "a catalog that cannot be opened is replaced or removed",
                metadata: ["name": "\(name)", "error": "\(error)"])
        }
        // The next request opens it again if it is still there.
        forget(name)
        return writer
    }

    /// Opens all catalogs, so that the first request finds them open, until the task is cancelled. A catalog that
    /// cannot be opened is logged.
    func openAll() async {
        for name in (try? names()) ?? [] {
            if Task.isCancelled { return }
            do {
                let count = try await entry(name).count
                logger.info("catalog", metadata: ["name": "\(name)", "entities": .stringConvertible(count)])
            } catch is CancellationError {
                return
            } catch let problem as Problem where problem.code == .unknownCatalog {
                // A request has removed it meanwhile.
                continue
            } catch {
                logger.error("catalog cannot be opened", metadata: ["name": "\(name)", "error": "\(error)"])
            }
        }
    }

    /// Ends all writing.
    func close() async {
        let writers = state.withLock { $0.open.values.map(\.writer) + $0.closed.values.map(\.writer) }
        for writer in writers { await writer.close() }
    }

    private func open(_ name: CatalogName, indexer: CatalogIndexer? = nil) async throws -> ServedCatalog {
        let url = url(of: name)
        let closed = state.withLock { $0.closed[name] }
        // Before the files are opened: another folder may take its place meanwhile.
        let folder = FolderState(url)
        let same = closed.flatMap { $0.folder?.identity == folder?.identity ? $0 : nil }
        if same == nil { await closed?.writer.close() }
        do {
            let catalog = try await opening(url) { try await Catalog.open(at: url) }
            let served = ServedCatalog(
                name: name, catalog: catalog,
                writer: same?.writer
                    ?? CatalogWriter(
                        url: url, indexer: indexer, idleTime: writerIdleTime, decoding: decoding,
                        imageMemory: imageMemory, willWrite: { [willChange] in willChange(name) }),
                // Queries that were kept of it still hold.
                id: same?.id ?? UUID(), swapCount: state.withLock { $0.swapCounts[name] ?? 0 },
                databaseID: try await catalog.catalogID)
            state.withLock { state in
                state.open[name] = served
                state.closed[name] = nil
                state.failed.remove(name)
            }
            await closeLeastUsed(since: nil)
            return served
        } catch {
            if !(error is CancellationError) { state.withLock { _ = $0.failed.insert(name) } }
            throw error
        }
    }

    /// Exchanges two folders. `renameat2` of Linux is not among Swift's functions of C.
    private static func exchange(_ a: URL, _ b: URL) throws {
        typealias Exchange =
            @convention(c) (CInt, UnsafePointer<CChar>, CInt, UnsafePointer<CChar>, CUnsignedInt) -> CInt
        // renameat2(2): both names change at one moment.
        let exchangeFlag: CUnsignedInt = 2
        guard let symbol = dlsym(nil, "renameat2") else { throw POSIXError(.ENOSYS) }
        let exchange = unsafeBitCast(symbol, to: Exchange.self)
        guard exchange(AT_FDCWD, a.path, AT_FDCWD, b.path, exchangeFlag) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    /// Makes the names in a folder durable.
    private static func synchronize(_ folder: URL) throws {
        let descriptor = Foundation.open(folder.path, O_RDONLY)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { Foundation.close(descriptor) }
        // Some file systems cannot do this for folders, and say EINVAL.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    func url(of name: CatalogName) -> URL { root.appendingPathComponent(name.description) }

    /// Whether a folder has a catalog, or may have one: nothing takes the place of what cannot be reached now.
    private static func isCatalog(_ url: URL) -> Bool {
        switch Catalog.state(of: url) {
        case .catalog, .unknown: true
        case .unfinished, .other: false
        }
    }

    private static func unknown(_ name: CatalogName) -> Problem {
        Problem(.unknownCatalog, "There is no catalog “\(name)”.")
    }
}

/// Opens the catalog in a folder. A model that cannot be used is damage of the catalog: the `ModelError` would look
/// like one about the image of a request.
func opening<Opened: Sendable>(
    _ url: URL, _ open: @Sendable () async throws -> Opened
) async throws -> Opened {
    do {
        return try await open()
    } catch let error as ModelError {
        throw CatalogError(subject: url.path, reason: .damaged("\(error)"))
    }
}
#endif
