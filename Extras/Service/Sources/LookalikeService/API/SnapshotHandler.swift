import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart
import NIOCore

/// `POST /v1/catalogs/{catalog}/snapshot` and `…/restore`
struct SnapshotHandler: Sendable {
    let service: ServiceState

    /// Answers a tar archive of the catalog as it is now. Searches and changes go on meanwhile.
    func snapshot(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let served = try await service.store.catalog(try context.catalogName())
        let work = try service.store.makeTemporaryFolder()
        try await served.catalog.copy(to: work.url.appendingPathComponent("catalog"))
        let (archive, digest) = try await computing {
            let archive = work.url.appendingPathComponent("snapshot.tar")
            return (archive, try SnapshotArchive.write(work.url.appendingPathComponent("catalog"), to: archive))
        }
        let size = try FileManager.default.attributesOfItem(atPath: archive.path)[.size] as? Int ?? 0
        var headers: HTTPFields = [
            .contentType: "application/x-tar", .cacheControl: "no-store",
            .contentDisposition: "attachment; filename=\"\(served.name).tar\"",
        ]
        // RFC 9530.
        if let field = HTTPField.Name("Repr-Digest") { headers[field] = "sha-256=:\(digest.base64EncodedString()):" }
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(contentLength: size) { writer in
                let file = try FileHandle(forReadingFrom: archive)
                defer { try? file.close() }
                while let data = try await computing({ try file.read(upToCount: 1 << 20) }), !data.isEmpty {
                    try await writer.write(ByteBuffer(bytes: data))
                }
                try await writer.finish(nil)
                withExtendedLifetime(work) {}
            })
    }

    /// Replaces a catalog by a snapshot, or makes it. The snapshot is checked before; if it is damaged, the catalog
    /// stays as it is.
    func restore(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        guard HeaderValue(request.headers[.contentType] ?? "").name == "application/x-tar" else {
            throw Problem(.unsupportedMediaType, "A snapshot is application/x-tar.")
        }
        let work = try service.store.makeTemporaryFolder()
        let archive = work.url.appendingPathComponent("snapshot.tar")
        try await Self.save(request.body, to: archive)
        let folder = work.url.appendingPathComponent("catalog")
        try await computing { try SnapshotArchive.extract(archive, to: folder) }
        do {
            // Makes the derived files, too.
            let catalog = try await opening(folder) { try await Catalog.open(at: folder) }
            guard catalog.model.summary.operationCount <= Self.mostOperations else {
                throw Problem(.damagedSnapshot, "The snapshot's model takes too long for an image.")
            }
        } catch let error as CatalogError {
            if case .modelUnavailable = error.reason { throw error }
            throw Problem(.damagedSnapshot, "The snapshot holds no catalog that can be opened.")
        }
        try await service.store.replace(name, with: folder)
        return Response(try await CatalogHandler.details(of: try await service.store.catalog(name), in: nil))
    }

    /// Per image: some ten seconds of a core. A search cannot be stopped within a pass of the network.
    private static let mostOperations = 500_000_000_000

    private static func save(_ body: RequestBody, to url: URL) async throws {
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw Problem(.storage, "The snapshot cannot be stored.")
        }
        let file = try FileHandle(forWritingTo: url)
        defer { try? file.close() }
        do {
            for try await buffer in body {
                let data = buffer.withUnsafeReadableBytes { Data($0) }
                try await computing { try file.write(contentsOf: data) }
            }
        } catch let error as CocoaError {
            throw Problem(.storage, "The snapshot cannot be stored (\(error.code.rawValue)).")
        }
    }
}
