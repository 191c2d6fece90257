#if Service
import Foundation
import HTTPTypes
import Logging
import Lookalike
import NIOCore

/// The batches that run without their clients, and those that have ended.
///
/// Each has a folder with its lines, until it ends, and its record. A service that starts finds the records of the one
/// before, and goes on with what had not ended.
actor TaskStore {
    private struct Entry {
        /// Once the task has ended, the file has the refusals.
        var record: TaskRecord
        var work: Task<Void, Never>?
        /// Tells other services that the task is in work here.
        var lock: FolderLock?
    }

    private let root: URL
    private let logger: Logger
    private let onEnd: @Sendable (TaskRecord) -> Void
    private let places: WorkPool
    /// In the order in which they came.
    private var order: [String] = []
    private var entries: [String: Entry] = [:]
    private var isClosed = false

    /// Tasks that run at once; their commits wait for each other if they are for one catalog.
    private static let atOnce = 2
    /// Tasks that wait or run.
    private static let mostActive = 64
    /// Tasks that have ended and are still known.
    private static let mostEnded = 100
    /// Bytes that are read of the lines at once.
    private static let chunk = 1 << 20

    /// - Parameters:
    ///   - root: the folder of the tasks, which is made for the first one.
    ///   - onEnd: called when a task ends.
    init(
        root: URL, metrics: PoolMetrics, logger: Logger, onEnd: @escaping @Sendable (TaskRecord) -> Void
    ) {
        self.root = root
        self.logger = logger
        self.onEnd = onEnd
        places = WorkPool(places: Self.atOnce, metrics: metrics)
    }

    /// The lines of a batch on their way to the disk.
    struct Upload: Sendable {
        let id: String
        let folder: WorkFolder
        let lock: FolderLock
        let lines: FileHandle
    }

    /// Reads what the service before has left.
    func load() {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: root.path) else { return }
        var found: [(TaskRecord, FolderLock?)] = []
        for name in names {
            let folder = root.appendingPathComponent(name)
            let lock = FolderLock(folder)
            guard entries[name] == nil, !lock.isTaken else { continue }
            guard var record = try? Self.record(in: folder), record.id == name else {
                // The lines of a task that was not accepted.
                try? FileManager.default.removeItem(at: folder)
                continue
            }
            guard record.status.isFinal else {
                guard CatalogName(record.catalog) != nil,
                    FileManager.default.fileExists(atPath: Self.lines(in: folder).path)
                else {
                    record.end(.interrupted)
                    save(record)
                    onEnd(record.summary)
                    found.append((record.summary, nil))
                    continue
                }
                record.status = .waiting
                found.append((record, lock))
                continue
            }
            found.append((record.summary, nil))
        }
        for (record, lock) in found.sorted(by: { $0.0.created < $1.0.created }) {
            entries[record.id] = Entry(record: record, lock: lock)
            order.append(record.id)
        }
        forgetOldest()
    }

    /// Goes on with the tasks that the service before has left.
    ///
    /// - Parameter budget: what their lines are claimed of, as far as they fit.
    func resume(by writer: BatchWriter, claiming budget: ByteBudget) {
        for id in order {
            guard let entry = entries[id], !entry.record.status.isFinal, entry.work == nil,
                let catalog = CatalogName(entry.record.catalog)
            else { continue }
            let path = Self.lines(in: root.appendingPathComponent(id)).path
            let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
            let claim = budget.claim(for: .service)
            try? claim.add(size)
            entries[id]?.work = Task {
                await run(id, in: catalog, for: .service, by: writer)
                withExtendedLifetime(claim) {}
            }
        }
    }

    /// The tasks that wait or run.
    var activeCount: Int { entries.values.count { !$0.record.status.isFinal } }

    /// Refuses a task that would be refused after its upload.
    func check() throws(Problem) {
        guard !isClosed else { throw Problem(.overloaded, "The service is ending; send the batch again.") }
        guard activeCount < Self.mostActive else {
            throw Problem(
                .overloaded, "\(Self.mostActive) tasks wait already; try again when one has ended.",
                headers: [.retryAfter: "30"])
        }
    }

    /// Refuses to put something in the place of catalogs that tasks write to: the rest of their lines would be written
    /// to that.
    func check(thatNoneWritesTo catalogs: [CatalogName]) throws(Problem) {
        for (id, entry) in entries where !entry.record.status.isFinal {
            guard let name = CatalogName(entry.record.catalog), catalogs.contains(name) else { continue }
            throw Problem(
                .catalogBusy,
                "The task “\(id)” writes to the catalog “\(name)”. Wait until it has ended, or cancel it.",
                headers: [.retryAfter: "30"])
        }
    }

    /// Makes a folder for the lines of a task. They are removed with the upload unless it is started.
    nonisolated func makeUpload() throws -> Upload {
        let id = UUID().uuidString.lowercased()
        let folder = root.appendingPathComponent(id)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let held = WorkFolder(folder)
        let lock = FolderLock(folder)
        let url = Self.lines(in: folder)
        guard !lock.isTaken, FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw POSIXError(.EBUSY)
        }
        return Upload(id: id, folder: held, lock: lock, lines: try FileHandle(forWritingTo: url))
    }

    /// Runs the lines of an upload as a task.
    ///
    /// - Parameters:
    ///   - total: the number of the lines that are not empty.
    ///   - claim: what the lines take, until the task ends.
    ///   - writer: what carries them out.
    /// - Throws: ``Problem`` if there are too many tasks, and an error of the file system.
    func start(
        _ upload: Upload, in catalog: CatalogName, total: Int, claim: ByteBudget.Claim, for client: WorkClient,
        by writer: BatchWriter
    ) throws -> TaskRecord {
        try check()
        let record = TaskRecord(id: upload.id, catalog: catalog, total: total)
        try Self.write(record, in: upload.folder.url)
        upload.folder.keep()
        order.append(record.id)
        entries[record.id] = Entry(record: record, lock: upload.lock)
        entries[record.id]?.work = Task {
            await run(record.id, in: catalog, for: client, by: writer)
            withExtendedLifetime(claim) {}
        }
        return record
    }

    /// All tasks, the latest first, without what was refused.
    var summaries: [TaskRecord] { order.reversed().compactMap { entries[$0]?.record.summary } }

    /// - Throws: ``Problem`` for an unknown id.
    func record(_ id: String) throws(Problem) -> TaskRecord {
        guard let record = entries[id]?.record else { throw Self.unknown(id) }
        // Another service may have removed the file.
        return record.status.isFinal ? (try? Self.record(in: root.appendingPathComponent(id))) ?? record : record
    }

    /// Ends a task after the commit that it is in, or forgets one that has ended.
    ///
    /// - Returns: whether the task was still there to be ended.
    /// - Throws: ``Problem`` for an unknown id.
    func cancel(_ id: String) throws(Problem) -> Bool {
        guard let entry = entries[id] else { throw Self.unknown(id) }
        guard entry.record.status.isFinal else {
            entry.work?.cancel()
            return true
        }
        forget(id)
        return false
    }

    /// Ends all tasks after the commits that they are in. The next service goes on with them.
    func close() async {
        isClosed = true
        let works = entries.values.compactMap(\.work)
        for work in works { work.cancel() }
        for work in works { await work.value }
    }

    private nonisolated func run(
        _ id: String, in catalog: CatalogName, for client: WorkClient, by writer: BatchWriter
    ) async {
        do {
            try await places.run(for: client, isPatient: true) {
                await change(id) {
                    $0.status = .running
                    $0.started = TaskRecord.now
                }
                try await carryOut(id, in: catalog, for: client, by: writer)
            }
            await end(id, .succeeded)
        } catch is CancellationError {
            if await isClosed {
                await change(id) { $0.status = .waiting }
            } else {
                await end(id, .cancelled)
            }
        } catch {
            let problem = Problem(error)
            logger.error("task failed", metadata: ["task": "\(id)", "error": "\(error)"])
            await end(id, .failed, problem)
        }
    }

    private nonisolated func carryOut(
        _ id: String, in catalog: CatalogName, for client: WorkClient, by writer: BatchWriter
    ) async throws {
        let folder = root.appendingPathComponent(id)
        let file = try FileHandle(forReadingFrom: Self.lines(in: folder))
        defer { try? file.close() }
        let store = writer.service.store
        func tag(_ entity: String) async throws -> String? {
            try await store.using(catalog) { try await EntityHandler.tag(of: entity, in: $0) }
        }
        // What the service before has done.
        var rest = await entries[id]?.record.done ?? 0
        let written = try await Self.intent(in: folder)?.written(tag: tag) ?? [:]
        var queue = writer.makeQueue()
        var isAtEnd = false
        while !isAtEnd {
            try Task.checkCancellation()
            let bytes = try await computing { try file.read(upToCount: Self.chunk) } ?? Data()
            isAtEnd = bytes.isEmpty
            if isAtEnd { queue.end() } else { bytes.withUnsafeBytes { queue.add($0) } }
            while queue.isFull || isAtEnd && !queue.isEmpty {
                var lines = queue.take()
                let known = min(rest, lines.count)
                lines.removeFirst(known)
                rest -= known
                try await writer.carryOut(
                    lines, known: written, in: try await store.catalog(catalog), from: client
                ) { lines in
                    var intent: [TaskIntent.Line] = []
                    for (number, id, isRemoval, known) in lines {
                        let tag = known == nil ? try await tag(id) : nil
                        intent.append(.init(number: number, id: id, isRemoval: isRemoval, tag: tag, status: known))
                    }
                    try Self.write(TaskIntent(lines: intent), in: folder)
                } didWrite: { results in
                    if let problem = Self.problemOfAll(results) { throw problem }
                    await change(id) { $0.add(results) }
                }
            }
        }
    }

    /// A problem that no line is to blame for, if nothing was carried out: the rest would fail as well.
    private static func problemOfAll(_ lines: [BatchLine]) -> Problem? {
        let problems = lines.compactMap { line in if case .failure(let problem) = line.outcome { problem } else { nil }
        }
        guard problems.count == lines.count else { return nil }
        return problems.first {
            [.storage, .diskFull, .unknownCatalog, .catalogBusy, .overloaded, .inner].contains($0.code)
        }
    }

    private func end(_ id: String, _ status: TaskRecord.Status, _ problem: Problem? = nil) {
        change(id) { $0.end(status, problem) }
        guard let record = entries[id]?.record else { return }
        let folder = root.appendingPathComponent(id)
        for file in [Self.lines(in: folder), Self.intentFile(in: folder)] {
            try? FileManager.default.removeItem(at: file)
        }
        entries[id] = Entry(record: record.summary)
        logger.info(
            "task",
            metadata: [
                "task": "\(id)", "catalog": "\(record.catalog)", "result": "\(status.rawValue)",
                "done": .stringConvertible(record.done), "refused": .stringConvertible(record.refused),
            ])
        onEnd(record.summary)
        forgetOldest()
    }

    private func change(_ id: String, _ body: @Sendable (inout TaskRecord) -> Void) {
        guard var record = entries[id]?.record else { return }
        body(&record)
        entries[id]?.record = record
        save(record)
    }

    /// A record that cannot be written is kept in memory: a full disk does not end the task.
    private func save(_ record: TaskRecord) {
        do {
            try Self.write(record, in: root.appendingPathComponent(record.id))
        } catch {
            logger.error(
                "the record of a task cannot be written", metadata: ["task": "\(record.id)", "error": "\(error)"])
        }
    }

    private func forgetOldest() {
        let ended = order.filter { entries[$0]?.record.status.isFinal ?? true }
        for id in ended.dropLast(Self.mostEnded) { forget(id) }
    }

    private func forget(_ id: String) {
        entries[id] = nil
        order.removeAll { $0 == id }
        try? FileManager.default.removeItem(at: root.appendingPathComponent(id))
    }

    private static func lines(in folder: URL) -> URL { folder.appendingPathComponent("lines.jsonl") }
    private static func file(in folder: URL) -> URL { folder.appendingPathComponent("task.json") }

    private static func intentFile(in folder: URL) -> URL { folder.appendingPathComponent("intent.json") }

    private static func intent(in folder: URL) -> TaskIntent? {
        (try? Data(contentsOf: intentFile(in: folder))).flatMap { try? JSONDecoder().decode(TaskIntent.self, from: $0) }
    }

    private static func write(_ intent: TaskIntent, in folder: URL) throws {
        try Data(ByteBuffer(json: intent).readableBytesView).write(to: intentFile(in: folder), options: .atomic)
    }

    private static func record(in folder: URL) throws -> TaskRecord {
        try JSONDecoder().decode(TaskRecord.self, from: Data(contentsOf: file(in: folder)))
    }

    private static func write(_ record: TaskRecord, in folder: URL) throws {
        try Data(ByteBuffer(json: record).readableBytesView).write(to: file(in: folder), options: .atomic)
    }

    private static func unknown(_ id: String) -> Problem { Problem(.unknownTask, "There is no task “\(id)”.") }
}
#endif
