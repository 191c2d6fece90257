#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart
import NIOCore

/// `POST /v1/catalogs/{catalog}/entities:batch`: a line of JSON per entity, and a line per result as they are written.
struct BatchHandler: Sendable {
    let service: ServiceState

    /// Entities and bytes that are written together at most. Each commit costs time for the whole catalog.
    private static let entitiesAtOnce = 512
    private static let bytesAtOnce = 16 << 20
    /// The bytes that may wait at any pace. More whole lines are written soon, and a longer line has to come fast.
    private static let bytesAtAnyPace = 1 << 20
    private static let longestWait = Duration.seconds(1)

    struct Line: Encodable, Sendable {
        enum Status: Int { case replaced = 200, created = 201, removed = 204 }

        let line: Int
        let id: String?
        let status: Int
        let problem: ProblemBody?

        init(line: Int, id: String?, outcome: Result<Status, Problem>) {
            self.line = line
            self.id = id
            switch outcome {
            case .success(let status): (self.status, problem) = (status.rawValue, nil)
            case .failure(let failure): (self.status, problem) = (failure.status.code, ProblemBody(problem: failure))
            }
        }
    }

    /// A problem inside another answer.
    struct ProblemBody: Encodable, Sendable {
        let problem: Problem

        func encode(to encoder: any Encoder) throws { try problem.body.encode(to: encoder) }
    }

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let type = HeaderValue(request.headers[.contentType] ?? "").name
        // A page of another site could send text/plain without asking.
        guard type == "application/x-ndjson" || type == "application/jsonl" else {
            throw Problem(.unsupportedMediaType, "A batch is application/x-ndjson: an entity as JSON per line.")
        }
        let served = try await service.store.catalog(try context.catalogName())
        let body = request.body
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
        // In base64, an image takes four bytes for three.
        var lines = LineReader(limit: service.configuration.limits.bodyBytes / 3 * 4 + 65_536)
        var waiting: [(number: Int, text: Result<Data, Problem>)] = []
        var number = 0
        func flush(_ writer: inout any ResponseBodyWriter) async throws {
            let results = await results(of: waiting, in: served, from: client)
            waiting = []
            var buffer = ByteBuffer()
            for result in results {
                buffer.writeImmutableBuffer(ByteBuffer(json: result))
                buffer.writeString("\n")
            }
            if buffer.readableBytes > 0 { try await writer.write(buffer) }
        }
        var bytes = 0
        let claim = try service.bodies.budget.claim(0)
        var pace = BodyPace(idleTime: service.bodies.idleTime)
        var start = ContinuousClock.now
        var flushed = start
        for try await buffer in body {
            if lines.waitingCount > Self.bytesAtAnyPace {
                try pace.add(buffer.readableBytes, after: .now - start)
            } else {
                pace = BodyPace(idleTime: service.bodies.idleTime)
            }
            try claim.add(buffer.readableBytes)
            for line in buffer.withUnsafeReadableBytes({ lines.add($0) }) {
                number += 1
                if case .success(let data) = line, data.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
                    continue
                }
                if case .success(let data) = line { bytes += data.count }
                waiting.append((number, line))
                let isSlow = bytes > Self.bytesAtAnyPace && .now - flushed > Self.longestWait
                if waiting.count >= Self.entitiesAtOnce || bytes >= Self.bytesAtOnce || isSlow {
                    try await flush(&writer)
                    (bytes, flushed) = (0, .now)
                }
            }
            claim.shrink(to: bytes + lines.waitingCount)
            start = .now
        }
        if let last = lines.end() { waiting.append((number + 1, last)) }
        try await flush(&writer)
    }

    /// What a line asks for.
    private enum Order: Sendable {
        case put(EntityBody)
        case remove(String)

        var isRemoval: Bool { if case .remove = self { true } else { false } }
    }

    /// A line that removes an entity.
    private struct Removal: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable { case id, delete }

        let id: IDText
        let delete: Bool
    }

    /// Writes entities together, and removes others, in the order of the lines. Returns their results in that order.
    private func results(
        of lines: [(number: Int, text: Result<Data, Problem>)], in served: ServedCatalog, from client: WorkClient
    ) async -> [Line] {
        let checked = await checkedOrders(of: lines.map(\.text), for: served, from: client)
        var rest = checked.compactMap { try? $0.order.get() }[...]
        var written: [Result<Line.Status, Problem>] = []
        while let first = rest.first {
            let orders = Array(rest.prefix { $0.isRemoval == first.isRemoval })
            rest = rest.dropFirst(orders.count)
            do {
                written += try await service.store.using(served.name) { served in
                    try await service.writePool.run(for: client) { try await carryOut(orders, in: served) }
                }
            } catch {
                written += orders.map { _ in .failure(Problem(error)) }
            }
        }
        var outcomes = written[...]
        return zip(lines, checked).map { line, checked in
            let outcome = checked.order.flatMap { _ in outcomes.removeFirst() }
            return Line(line: line.number, id: checked.id, outcome: outcome)
        }
    }

    /// Carries out orders that are all puts, or all removals.
    private func carryOut(
        _ orders: [Order], in served: ServedCatalog
    ) async throws -> [Result<Line.Status, Problem>] {
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
    ) async throws -> [Result<Line.Status, Problem>] {
        try await served.writer.change { indexer in
            // Compare bytes: Swift compares strings by canonical equivalence.
            var known = Set(try await served.catalog.entities(for: ids).map { Array($0.id.utf8) })
            let outcomes: [Result<Line.Status, Problem>] = ids.map { id in
                known.remove(Array(id.utf8)) != nil
                    ? .success(.removed) : .failure(Problem(.unknownEntity, "The catalog has no entity “\(id)”."))
            }
            let removed = zip(ids, outcomes).filter { if case .success = $0.1 { true } else { false } }.map(\.0)
            if !removed.isEmpty { try await computing { try indexer.remove(removed) } }
            return outcomes
        }
    }

    /// What lines ask for, each with its id if the line has one.
    private func checkedOrders(
        of lines: [Result<Data, Problem>], for served: ServedCatalog, from client: WorkClient
    ) async -> [(id: String?, order: Result<Order, Problem>)] {
        await withTaskGroup(of: (Int, String?, Result<Order, Problem>).self) { group in
            var orders: [(Int, String?, Result<Order, Problem>)] = []
            for (index, line) in lines.enumerated() {
                // No more tasks than threads: what other requests compute would wait behind all of them.
                if index >= ComputeExecutor.shared.threadCount, let order = await group.next() { orders.append(order) }
                group.addTask {
                    var id: String?
                    do {
                        let data = try line.get()
                        if let removal = Self.removal(data) {
                            id = try EntityID.checked(removal)
                            return (index, id, .success(.remove(removal)))
                        }
                        let body = try EntityBody(id: nil, json: data)
                        id = body.entity.id
                        try await service.check(body, for: served, from: client)
                        return (index, id, .success(.put(body)))
                    } catch {
                        return (index, id, .failure(Problem(error)))
                    }
                }
            }
            for await order in group { orders.append(order) }
            return orders.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
        }
    }

    /// The id of the entity that a line removes; nil for another line.
    private static func removal(_ line: Data) -> String? {
        // Lines with images are long, and are not read twice.
        guard line.count <= 4096, let removal = try? Removal(json: line), removal.delete else { return nil }
        return removal.id.text
    }

    private func write(
        _ bodies: [EntityBody], to served: ServedCatalog
    ) async throws -> [Result<Line.Status, Problem>] {
        guard !bodies.isEmpty else { return [] }
        // Compare bytes: Swift compares strings by canonical equivalence.
        let known = try await served.catalog.entities(for: bodies.map(\.entity.id)).map { Array($0.id.utf8) }
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
