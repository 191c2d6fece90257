import Foundation
import Lookalike

/// A catalog that a server keeps: it is indexed from memory, changes while it is searched, and answers many searches at
/// once. The images are those of the demo.
///
/// Arguments: the folder of the covers, and a folder for the catalog.
@main
struct LiveCatalog {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            print("usage: LiveCatalog COVERS CATALOG")
            exit(64)
        }
        let covers = try Covers(at: URL(fileURLWithPath: CommandLine.arguments[1]))
        let folder = URL(fileURLWithPath: CommandLine.arguments[2])
        let indexer = try CatalogIndexer(at: folder)

        // A stream of uploads, indexed as they come.
        for try await report in indexer.run(over: covers.uploads(count: 16)) { print("\(report.processed) indexed") }
        let catalog = try await Catalog.open(at: folder)

        try await changeOneEntity(covers, indexer, catalog)
        try await searchManyAtOnce(covers, catalog)
        try await browse(covers, catalog)
    }

    /// An entity is searchable as soon as it is added, and gone as soon as it is removed.
    private static func changeOneEntity(_ covers: Covers, _ indexer: CatalogIndexer, _ catalog: Catalog) async throws {
        let cover = covers.all[16]
        let image = try PixelBuffer(decoding: cover.data, named: cover.id)
        try await expect("nothing yet", catalog.search(matching: image).isEmpty)
        try await indexer.upsert(
            IndexItem(CatalogEntity(id: cover.id, type: "album", title: "New"), image: .pixels(image)))
        try await expect("found at once", catalog.search(matching: image).map(\.id) == [cover.id])
        try await indexer.update(
            CatalogEntity(id: cover.id, type: "album", title: "Renamed", attributes: ["side": "B"]))
        try await expect("renamed", catalog.search(text: "renamed").map(\.id) == [cover.id])
        try await indexer.remove(cover.id)
        try await expect("gone", catalog.search(matching: image).isEmpty)
    }

    /// Searches in flight share the cores, and leave Swift's own threads to other tasks.
    private static func searchManyAtOnce(_ covers: Covers, _ catalog: Catalog) async throws {
        let images = try covers.all.prefix(16).map { try PixelBuffer(decoding: $0.data, named: $0.id) }
        let answers = try await catalog.search(matching: images, options: SearchOptions(limit: 1))
        expect("a batch, in its order", answers.map { $0.map(\.id) } == covers.all.prefix(16).map { [$0.id] })

        let search = Task { try await catalog.search(matching: images[0]) }
        search.cancel()
        if case .failure(let error) = await search.result { print("cancelled: \(error is CancellationError)") }
    }

    /// Pages, facets, similar entities and related ones.
    private static func browse(_ covers: Covers, _ catalog: Catalog) async throws {
        // A frame as a camera gives it: luma, and chroma at half the size.
        let (width, height) = (320, 240)
        let frame = try PixelBuffer(
            nv12: PixelPlane([UInt8](repeating: 120, count: width * height)),
            chroma: PixelPlane([UInt8](repeating: 128, count: width * height / 2)), width: width, height: height)
        let query = try await catalog.query(for: frame)
        try await expect("a gray frame shows none of them", catalog.search(query).isEmpty)

        var ids: [String] = []
        for try await page in catalog.pages(of: query, options: SearchOptions(limit: 5, bounds: .none)) {
            ids += page.map(\.id)
        }
        expect("every entity is on one page", Set(ids).count == 16 && ids.count == 16)
        let facets = try await catalog.facets(
            of: query, by: [.type, .attribute("shelf")], options: SearchOptions(bounds: .none))
        for facet in facets { print(facet.field, facet.values.map { "\($0.value): \($0.count)" }) }

        let id = covers.all[0].id
        let similar = try await catalog.search(
            catalog.query(similarTo: id), options: SearchOptions(limit: 3, bounds: .none))
        print("like \(id): \(similar.map(\.id).joined(separator: ", "))")
        let stored = try await catalog.featurePrint(for: id)
        let copy = try JSONDecoder().decode(FeaturePrint.self, from: JSONEncoder().encode(stored))
        try await expect(
            "a stored print",
            catalog.search(catalog.query(for: [copy]), options: SearchOptions(limit: 1, bounds: .none)).map(\.id) == [
                id
            ])
        let shelf = try await catalog.entities(where: .attribute("shelf"), isAnyOf: ["2"])
        expect("related", shelf.allSatisfy { $0.attributes["shelf"] == "2" } && !shelf.isEmpty)
        do {
            _ = try await catalog.entities(where: .attribute("shelve"), isAnyOf: ["2"])
            expect("a mistyped attribute is an error", false)
        } catch let error as CatalogError {
            print(error)
        }
        if let first = try await catalog.search(
            catalog.query(similarTo: id), options: SearchOptions(limit: 1, bounds: .none)
        ).first {
            print(String(decoding: try JSONEncoder().encode(first), as: UTF8.self))
        }
    }

    /// Ends the program if something is not as expected.
    private static func expect(_ words: String, _ isTrue: Bool) {
        print("\(isTrue ? "✓" : "✗") \(words)")
        if !isTrue { exit(1) }
    }
}

/// The demo's covers as bytes in memory, as a server gets them.
private struct Covers {
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

    /// The first covers as a stream of uploads.
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
