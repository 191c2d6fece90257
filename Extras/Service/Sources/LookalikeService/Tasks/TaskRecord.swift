#if Service
import Foundation
import HTTPTypes

/// What is known of a batch that runs as a task, as JSON for clients and in its file.
struct TaskRecord: Codable, Sendable {
    enum Status: String, Codable, Sendable {
        case waiting, running, succeeded, failed, cancelled, interrupted

        var isFinal: Bool { self != .waiting && self != .running }
    }

    /// A line that was not carried out.
    struct Refusal: Codable, Sendable {
        let line: Int
        let id: String?
        let status: Int
        let problem: Problem.Body
    }

    /// More refusals are counted, and not kept.
    static let mostRefusals = 1000

    let id: String
    let catalog: String
    var status = Status.waiting
    /// The lines of the batch that are not empty.
    let total: Int
    /// The lines that were carried out or refused.
    var done = 0
    var refused = 0
    let created: String
    var started: String?
    var ended: String?
    /// Why the task failed.
    var problem: Problem.Body?
    /// The first lines that were refused; nil in lists.
    var refusals: [Refusal]?

    init(id: String, catalog: CatalogName, total: Int) {
        self.id = id
        self.catalog = catalog.description
        self.total = total
        created = Self.now
        refusals = []
    }

    /// The time in ISO 8601.
    static var now: String { Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

    /// Without the refusals, of which there may be many.
    var summary: TaskRecord {
        var summary = self
        summary.refusals = nil
        return summary
    }

    mutating func add(_ lines: [BatchLine]) {
        done += lines.count
        for line in lines {
            guard case .failure(let problem) = line.outcome else { continue }
            refused += 1
            guard refusals?.count ?? 0 < Self.mostRefusals else { continue }
            refusals?.append(
                Refusal(line: line.number, id: line.id, status: problem.status.code, problem: problem.body))
        }
    }

    mutating func end(_ status: Status, _ problem: Problem? = nil) {
        self.status = status
        self.problem = problem?.body
        ended = Self.now
    }
}

/// The lines of a task that are about to be written, with what the catalog has of their entities before. A service that
/// starts after another one was killed sees by it which of them were written.
struct TaskIntent: Codable, Sendable {
    struct Line: Codable, Sendable {
        let number: Int
        let id: String
        let isRemoval: Bool
        /// The tag of the entity; nil if there is none.
        let tag: String?
        /// The result of a line that an earlier service had carried out; nil otherwise.
        let status: BatchLine.Status?
    }

    let lines: [Line]

    /// The results of the lines whose entities are not as they were: these lines were written, or other clients have
    /// changed the entities since, which comes to the same.
    ///
    /// - Parameter tag: that of the entity of an id now.
    func written(tag: (String) async throws -> String?) async throws -> [Int: BatchLine] {
        var written: [Int: BatchLine] = [:]
        for line in lines {
            if line.status == nil, try await tag(line.id) == line.tag { continue }
            let status =
                line.status ?? (line.isRemoval ? .removed : line.tag == nil ? .created : .replaced)
            written[line.number] = BatchLine(number: line.number, id: line.id, outcome: .success(status))
        }
        return written
    }
}
#endif
