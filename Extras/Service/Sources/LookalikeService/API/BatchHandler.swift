#if Service
import CatalogEntities
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart
import NIOCore

/// `POST /v1/catalogs/{catalog}/entities:batch`: a line of JSON per entity, and a line per result as they are written.
struct BatchHandler: Sendable {
    let service: ServiceState

    /// The bytes that may wait at any pace. More whole lines are written soon, and a longer line has to come fast.
    private static let bytesAtAnyPace = 1 << 20
    private static let longestWait = Duration.seconds(1)

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let type = HeaderValue(request.headers[.contentType] ?? "").name
        // A page of another site could send text/plain without asking.
        guard type == "application/x-ndjson" || type == "application/jsonl" else {
            throw Problem(.unsupportedMediaType, "A batch is application/x-ndjson: an entity as JSON per line.")
        }
        let served = try await service.store.catalog(try context.catalogName())
        let body = request.body
        if request.prefersAsynchronous { return try await startTask(body, in: served.name, from: context.client) }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await write(body, to: served, from: context.client, writer: &writer)
                try await writer.finish(nil)
            })
    }

    private func write(
        _ body: RequestBody, to served: ServedCatalog, from client: WorkClient, writer: inout any ResponseBodyWriter
    ) async throws {
        var queue = service.batches.makeQueue()
        func flush(_ writer: inout any ResponseBodyWriter) async throws {
            let results = try await service.batches.results(of: queue.take(), in: served, from: client)
            var buffer = ByteBuffer()
            for result in results {
                buffer.writeImmutableBuffer(ByteBuffer(json: result))
                buffer.writeString("\n")
            }
            if buffer.readableBytes > 0 { try await writer.write(buffer) }
        }
        let claim = service.bodies.budget.claim(for: client)
        var pace = BodyPace(idleTime: service.bodies.idleTime)
        var start = ContinuousClock.now
        var flushed = start
        for try await buffer in body {
            if queue.unfinishedCount > Self.bytesAtAnyPace {
                try pace.add(buffer.readableBytes, after: .now - start)
            } else {
                pace = BodyPace(idleTime: service.bodies.idleTime)
            }
            try claim.add(buffer.readableBytes)
            buffer.withUnsafeReadableBytes { queue.add($0) }
            while queue.isFull || queue.byteCount > Self.bytesAtAnyPace && .now - flushed > Self.longestWait {
                try await flush(&writer)
                flushed = .now
            }
            claim.shrink(to: queue.byteCount + queue.unfinishedCount)
            start = .now
        }
        queue.end()
        while !queue.isEmpty { try await flush(&writer) }
    }

    /// Puts the lines on disk, and answers before they are carried out.
    private func startTask(_ body: RequestBody, in name: CatalogName, from client: WorkClient) async throws -> Response
    {
        try await service.tasks.check()
        try service.checkDisk()
        let upload = try service.tasks.makeUpload()
        let claim = service.taskBytes.claim(for: .service)
        let limit = service.configuration.limits.taskBytes
        var (counter, byteCount) = (LineCounter(), 0)
        var pace = BodyPace(idleTime: service.bodies.idleTime)
        var start = ContinuousClock.now
        for try await buffer in body {
            try pace.add(buffer.readableBytes, after: .now - start)
            byteCount += buffer.readableBytes
            guard byteCount <= limit else {
                throw Problem(.bodyTooLarge, "The batch has more than \(limit) bytes, the limit of tasks.")
            }
            do {
                try claim.add(buffer.readableBytes)
            } catch {
                throw Problem(
                    .overloaded, "Tasks take all space that is set aside for them; try again when one has ended.",
                    headers: [.retryAfter: "30"])
            }
            buffer.withUnsafeReadableBytes { counter.add($0) }
            let data = Data(buffer.readableBytesView)
            try await computing { try upload.lines.write(contentsOf: data) }
            start = .now
        }
        try upload.lines.close()
        let record = try await service.tasks.start(
            upload, in: name, total: counter.end(), claim: claim, for: client, by: service.batches)
        var headers: HTTPFields = [.location: "\(service.base)/v1/tasks/\(record.id)"]
        if let field = HTTPField.Name("Preference-Applied") { headers[field] = "respond-async" }
        return Response(record.summary, status: .accepted, headers: headers)
    }
}

/// The result of a line of a batch.
struct BatchLine: Encodable, Sendable {
    enum CodingKeys: String, CodingKey { case line, id, status, problem }
    enum Status: Int, Codable { case replaced = 200, created = 201, removed = 204 }

    let number: Int
    let id: String?
    let outcome: Result<Status, Problem>

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(number, forKey: .line)
        try values.encodeIfPresent(id, forKey: .id)
        switch outcome {
        case .success(let status): try values.encode(status.rawValue, forKey: .status)
        case .failure(let problem):
            try values.encode(problem.status.code, forKey: .status)
            try values.encode(problem.body, forKey: .problem)
        }
    }
}

/// The lines of a batch that wait, numbered from 1. Empty ones are counted and left out.
struct BatchQueue: Sendable {
    typealias Line = (number: Int, text: Result<Data, Problem>)

    /// Entities and bytes that are written together at most. Each commit costs time for the whole catalog.
    private static let linesAtOnce = 512
    private static let bytesAtOnce = 16 << 20

    private var lines: LineReader
    private var waiting: [Line] = []
    private var number = 0
    /// The bytes of the lines that wait.
    private(set) var byteCount = 0

    init(lineLimit: Int) { lines = LineReader(limit: lineLimit) }

    var isEmpty: Bool { waiting.isEmpty }
    var isFull: Bool { waiting.count >= Self.linesAtOnce || byteCount >= Self.bytesAtOnce }
    /// The bytes of the line that has not ended.
    var unfinishedCount: Int { lines.waitingCount }

    mutating func add(_ bytes: UnsafeRawBufferPointer) { for line in lines.add(bytes) { append(line) } }

    /// Adds the last line, if it does not end with a line break.
    mutating func end() { if let last = lines.end() { append(last) } }

    /// Takes the lines that are written together next.
    mutating func take() -> [Line] {
        var (count, bytes) = (0, 0)
        while count < min(waiting.count, Self.linesAtOnce), bytes < Self.bytesAtOnce {
            bytes += Self.size(of: waiting[count])
            count += 1
        }
        defer {
            waiting.removeFirst(count)
            byteCount -= bytes
        }
        return Array(waiting.prefix(count))
    }

    private mutating func append(_ text: Result<Data, Problem>) {
        number += 1
        if case .success(let data) = text, data.allSatisfy(LineCounter.isBlank) { return }
        waiting.append((number, text))
        byteCount += Self.size(of: (number, text))
    }

    private static func size(of line: Line) -> Int { (try? line.text.get().count) ?? 0 }
}

/// Counts the lines that are not empty.
struct LineCounter {
    private var count = 0
    private var isEmpty = true

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0D || byte == 0x09 }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            if byte == 0x0A {
                count = end()
                isEmpty = true
            } else if isEmpty, !Self.isBlank(byte) {
                isEmpty = false
            }
        }
    }

    /// The number of lines if this is the end.
    func end() -> Int { isEmpty ? count : count + 1 }
}

/// Carries out the lines of batches.
struct BatchWriter: Sendable {
    let service: ServiceState

    /// In base64, an image takes four bytes for three.
    func makeQueue() -> BatchQueue {
        BatchQueue(lineLimit: service.configuration.limits.bodyBytes / 3 * 4 + 65_536)
    }

    /// What a line asks for.
    private enum Order: Sendable {
        case put(EntityBody)
        case remove(String)

        var isRemoval: Bool { if case .remove = self { true } else { false } }
    }

    /// What a line asks for, with its id if the line has one.
    private struct CheckedLine: Sendable {
        let id: String?
        let order: Result<Order, Problem>

        /// Nil for a line that is refused.
        var orderID: String? { if case .success = order { id } else { nil } }
    }

    /// A line that removes an entity.
    private struct Removal: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable { case id, delete }

        let id: IDText
        let delete: Bool
    }

    /// Writes entities together, and removes others, in the order of the lines. Returns their results in that order.
    ///
    /// - Throws: `CancellationError` if the task was cancelled before anything was written; what has begun is written
    ///   to its end.
    func results(
        of lines: [BatchQueue.Line], in served: ServedCatalog, from client: WorkClient
    ) async throws -> [BatchLine] {
        let checked = await checkedOrders(of: lines.map(\.text), for: served, from: client)
        try Task.checkCancellation()
        var outcomes = await carryOut(checked, in: served, from: client, isPatient: false)
        return zip(lines, checked).map { line, checked in
            BatchLine(
                number: line.number, id: checked.id, outcome: checked.order.flatMap { _ in outcomes.removeFirst() })
        }
    }

    /// Does the same for a task, however long the changes wait for a place, in parts in which no entity comes twice: so
    /// that the entity of each line shows whether the line was carried out, after the service was killed.
    ///
    /// - Parameters:
    ///   - known: the results of lines that were carried out before, by their numbers.
    ///   - willWrite: called before a part is written, with its lines that are not refused.
    ///   - didWrite: called with the results of each part.
    /// - Throws: what these throw, and `CancellationError` before a part.
    func carryOut(
        _ lines: [BatchQueue.Line], known: [Int: BatchLine], in served: ServedCatalog, from client: WorkClient,
        willWrite: ([(number: Int, id: String, isRemoval: Bool, known: BatchLine.Status?)]) async throws -> Void,
        didWrite: ([BatchLine]) async throws -> Void
    ) async throws {
        let new = lines.filter { known[$0.number] == nil }
        let orders = await checkedOrders(of: new.map(\.text), for: served, from: client)
        let checked = Dictionary(uniqueKeysWithValues: zip(new.map(\.number), orders))
        var rest = lines[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            var entities: Set<ExactText> = []
            let part = rest.prefix { line in
                (known[line.number]?.id ?? checked[line.number]?.orderID).map { id in
                    entities.insert(ExactText(id)).inserted
                } ?? true
            }
            rest = rest.dropFirst(part.count)
            try await willWrite(
                part.compactMap { line in
                    if let line = known[line.number], let id = line.id, let status = try? line.outcome.get() {
                        return (line.number, id, status == .removed, status)
                    }
                    guard let checked = checked[line.number], let id = checked.orderID else { return nil }
                    return (line.number, id, (try? checked.order.get().isRemoval) ?? false, nil)
                })
            var outcomes = await carryOut(
                part.compactMap { checked[$0.number] }, in: served, from: client, isPatient: true)
            try await didWrite(
                part.compactMap { line in
                    if let known = known[line.number] { return known }
                    guard let checked = checked[line.number] else { return nil }
                    return BatchLine(
                        number: line.number, id: checked.id,
                        outcome: checked.order.flatMap { _ in outcomes.removeFirst() })
                })
        }
    }

    /// The outcomes of the lines that are not refused. What has begun is written to its end.
    private func carryOut(
        _ lines: [CheckedLine], in served: ServedCatalog, from client: WorkClient, isPatient: Bool
    ) async -> ArraySlice<Result<BatchLine.Status, Problem>> {
        let orders = lines.compactMap { try? $0.order.get() }
        return await Task { await carryOut(orders, in: served, from: client, isPatient: isPatient) }.value[...]
    }

    private func carryOut(
        _ orders: [Order], in served: ServedCatalog, from client: WorkClient, isPatient: Bool
    ) async -> [Result<BatchLine.Status, Problem>] {
        var rest = orders[...]
        var written: [Result<BatchLine.Status, Problem>] = []
        while let first = rest.first {
            let orders = Array(rest.prefix { $0.isRemoval == first.isRemoval })
            rest = rest.dropFirst(orders.count)
            do {
                written += try await service.store.using(served.name) { current in
                    // A batch is for the catalog that had the name when it began.
                    guard current.swapCount == served.swapCount else {
                        throw Problem(.unknownCatalog, "The catalog was swapped meanwhile, and has another name.")
                    }
                    return try await service.writePool.run(for: client, isPatient: isPatient) {
                        try await carryOut(orders, in: current)
                    }
                }
            } catch {
                written += orders.map { _ in .failure(Problem(error)) }
            }
        }
        return written
    }

    /// Carries out orders that are all puts, or all removals.
    private func carryOut(
        _ orders: [Order], in served: ServedCatalog
    ) async throws -> [Result<BatchLine.Status, Problem>] {
        var (bodies, ids): ([EntityBody], [String]) = ([], [])
        for order in orders {
            switch order {
            case .put(let body): bodies.append(body)
            case .remove(let id): ids.append(id)
            }
        }
        return try await ids.isEmpty ? write(bodies, to: served) : remove(ids, from: served)
    }

    private func remove(
        _ ids: [String], from served: ServedCatalog
    ) async throws -> [Result<BatchLine.Status, Problem>] {
        try await served.writer.change { indexer in
            // Compare bytes: Swift compares strings by canonical equivalence.
            var known = Set(try await served.local.entities(for: ids).map { Array($0.id.utf8) })
            let outcomes: [Result<BatchLine.Status, Problem>] = ids.map { id in
                known.remove(Array(id.utf8)) != nil
                    ? .success(.removed) : .failure(Problem(.unknownEntity, "The catalog has no entity “\(id)”."))
            }
            let removed = zip(ids, outcomes).filter { if case .success = $0.1 { true } else { false } }.map(\.0)
            if !removed.isEmpty { try await computing { try indexer.removeAll(removed) } }
            return outcomes
        }
    }

    private func checkedOrders(
        of lines: [Result<Data, Problem>], for served: ServedCatalog, from client: WorkClient
    ) async -> [CheckedLine] {
        await withTaskGroup(of: (Int, String?, Result<Order, Problem>).self) { group in
            var orders: [(Int, String?, Result<Order, Problem>)] = []
            for (index, line) in lines.enumerated() {
                // No more tasks than threads: what other requests compute would wait behind all of them.
                if index >= ComputeExecutor.shared.threadCount, let order = await group.next() { orders.append(order) }
                group.addTask {
                    var id: String?
                    do {
                        let data = try line.get()
                        if let removal = try Self.removal(data) {
                            id = try EntityID.named(removal)
                            return (index, id, .success(.remove(removal)))
                        }
                        let body = try await service.parsing(data, for: client, isPatient: true) {
                            try EntityBody(id: nil, json: $0)
                        }
                        id = body.entity.id
                        try service.checkDisk()
                        try await service.check(body, for: served, from: client)
                        return (index, id, .success(.put(body)))
                    } catch {
                        return (index, id, .failure(Problem(error)))
                    }
                }
            }
            for await order in group { orders.append(order) }
            return orders.sorted { $0.0 < $1.0 }.map { CheckedLine(id: $0.1, order: $0.2) }
        }
    }

    /// The id of the entity that a line removes; nil for another line.
    ///
    /// - Throws: ``Problem`` for a key that comes twice.
    private static func removal(_ line: Data) throws(Problem) -> String? {
        // Lines with images are long, and are not read twice.
        guard line.count <= 4096 else { return nil }
        do {
            let removal = try Removal(json: line)
            return removal.delete ? removal.id.text : nil
        } catch let problem as Problem {
            throw problem
        } catch {
            return nil
        }
    }

    private func write(
        _ bodies: [EntityBody], to served: ServedCatalog
    ) async throws -> [Result<BatchLine.Status, Problem>] {
        guard !bodies.isEmpty else { return [] }
        // Compare bytes: Swift compares strings by canonical equivalence.
        let known = try await served.local.entities(for: bodies.map(\.entity.id)).map { Array($0.id.utf8) }
        var seen = Set(known)
        let problems = try await served.writer.put(bodies.map(\.item))
        return zip(bodies, problems).map { body, problem in
            if let problem { return .failure(Problem(problem)) }
            return .success(seen.insert(Array(body.entity.id.utf8)).inserted ? .created : .replaced)
        }
    }
}

/// Splits bytes into lines as they come.
struct LineReader {
    let limit: Int
    private var line = Data()
    private var isTooLong = false

    init(limit: Int) { self.limit = limit }

    /// The bytes of the line that has not ended.
    var waitingCount: Int { line.count }

    /// The lines that end in these bytes, without their line breaks. A line that is too long is a problem, and skipped.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [Result<Data, Problem>] {
        var lines: [Result<Data, Problem>] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            append(rest[..<end])
            lines.append(take())
            rest = rest[(end + 1)...]
        }
        append(rest)
        return lines
    }

    /// The last line, if it does not end with a line break.
    mutating func end() -> Result<Data, Problem>? { line.isEmpty && !isTooLong ? nil : take() }

    private mutating func append(_ bytes: Slice<UnsafeRawBufferPointer>) {
        if line.count + bytes.count > limit {
            isTooLong = true
            line = Data()
        }
        if !isTooLong { line.append(contentsOf: bytes) }
    }

    private mutating func take() -> Result<Data, Problem> {
        defer { (line, isTooLong) = (Data(), false) }
        return isTooLong ? .failure(Problem(.bodyTooLarge, "The line has more than \(limit) bytes.")) : .success(line)
    }
}
#endif
