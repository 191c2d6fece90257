#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike

/// `/v1/tasks`: batches that run without their clients.
struct TasksHandler: Sendable {
    let service: ServiceState

    struct Listing: Encodable, Sendable {
        let tasks: [TaskRecord]
        /// The events that wait, for keys of all catalogs; nil without a webhook.
        let webhooks: [WebhookQueue.Summary]?
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let tasks = await service.tasks.summaries.filter { Self.mayChange($0, context) }
        return Response(
            Listing(tasks: tasks, webhooks: context.catalogs == nil ? service.webhook?.summaries : nil))
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(try await record(context))
    }

    /// Cancels a task, or forgets one that has ended.
    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try await record(context).id
        guard try await service.tasks.cancel(id) else { return Response(status: .noContent) }
        return Response(try await service.tasks.record(id).summary, status: .accepted)
    }

    private func record(_ context: ServiceContext) async throws -> TaskRecord {
        try context.require(.write)
        let id = try context.pathComponent("id")
        let record = try await service.tasks.record(id)
        guard Self.mayChange(record, context) else {
            // Not even that there is one.
            throw Problem(.unknownTask, "There is no task “\(id)”.")
        }
        return record
    }

    private static func mayChange(_ record: TaskRecord, _ context: ServiceContext) -> Bool {
        CatalogName(record.catalog).map(context.isAllowed) ?? false
    }
}

extension Request {
    /// Whether the client asks not to wait for what takes long (RFC 7240, section 4.1).
    var prefersAsynchronous: Bool {
        guard let field = HTTPField.Name("Prefer") else { return false }
        return headers[values: field].flatMap { $0.split(separator: ",") }
            .contains { $0.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() == "respond-async" }
    }
}
#endif
