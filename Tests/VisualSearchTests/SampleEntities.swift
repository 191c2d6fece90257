import Catalogs
import FeaturePrints
import Foundation
import Imaging
import Synchronization
import TestSupport
import VisualSearch

/// An album that the catalog's rows decode to.
struct Album: AppEntity, CatalogRepresentable, Decodable {
    var id: String
    @Property var title: String
    @Property var year: Int
    @Property var label: String?
    var labels: [String]
    var thumbnail: Data?

    var displayRepresentation: DisplayRepresentation { DisplayRepresentation(title: "\(title)", subtitle: "\(year)") }
    static let defaultQuery = AlbumQuery()
    static var typeDisplayRepresentation: TypeDisplayRepresentation { "Album" }
}

struct AlbumQuery: EntityQuery {
    @Dependency(key: "albums") var albums: EntityCatalog<Album>

    func entities(for identifiers: [String]) async throws -> [Album] { try await albums.entities(for: identifiers) }
}

/// A catalog of albums and posters over generated images; image `n` is `SampleImage.blocks(seed: n)`.
///
/// The catalog has no local features unless a test asks for them: it then ranks by distance alone.
struct EntityFixture {
    let folder: TemporaryFolder
    let catalog: Catalog
    let problems: ProblemList
    let albums: EntityCatalog<Album>

    final class ProblemList: Sendable {
        private let list = Mutex<[EntityProblem]>([])
        func add(_ problem: EntityProblem) { list.withLock { $0.append(problem) } }
        var all: [EntityProblem] { list.withLock { $0 } }
    }

    static func row(
        _ index: Int, type: String = "album", title: String? = nil, labels: [String] = [],
        rest: String = #", "year": 2001"#
    ) -> String {
        let list = labels.map { "\"\($0)\"" }.joined(separator: ",")
        return
            #"{"id": "a\#(index)", "image": "\#(index).png", "type": "\#(type)", "title": "\#(title ?? "Album \(index)")", "labels": [\#(list)]\#(rest)}"#
    }

    init(_ rows: [String], localFeatures: Bool = false) throws {
        folder = try TemporaryFolder()
        try Self.index(rows, in: folder, localFeatures: localFeatures)
        catalog = try Catalog(at: folder.file("catalog"))
        let problems = ProblemList()
        self.problems = problems
        albums = EntityCatalog(catalog, type: "album") { problems.add($0) }
    }

    static func index(_ rows: [String], in folder: TemporaryFolder, localFeatures: Bool = false) throws {
        for index in 0..<max(rows.count, 14) {
            try folder.write(SampleImage.blocks(seed: UInt64(index)).pngData(), to: "\(index).png")
        }
        let manifest = try folder.write(rows.joined(separator: "\n"), to: "albums.jsonl")
        let (items, problems) = try ImageSource.items(at: manifest)
        precondition(problems.isEmpty, "\(problems)")
        _ = try CatalogIndexer(at: folder.file("catalog"), localFeatures: localFeatures).index(items)
    }
}
