import Foundation
import Lookalike

/// The demo's covers as bytes in memory, as a server has them.
struct Covers {
    struct Cover: Sendable {
        let id: String
        let data: Data
    }

    let all: [Cover]

    init(at folder: URL) throws {
        all = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "jpg" }
            .sorted { $0.path < $1.path }
            .map { Cover(id: $0.deletingPathExtension().lastPathComponent, data: try Data(contentsOf: $0)) }
    }

    /// The first covers as they would come from somewhere else.
    func uploads(count: Int) -> AsyncStream<IndexItem> {
        AsyncStream { continuation in
            for (index, cover) in all.prefix(count).enumerated() {
                let entity = CatalogEntity(
                    id: cover.id, type: "album", title: cover.id.replacingOccurrences(of: "-", with: " "),
                    attributes: ["shelf": "\(index % 4)"])
                continuation.yield(IndexItem(entity, image: .data(cover.data)))
            }
            continuation.finish()
        }
    }
}
