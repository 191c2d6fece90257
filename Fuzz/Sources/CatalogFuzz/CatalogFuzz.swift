import Foundation
import FuzzSupport
import Lookalike

/// Opens, verifies and searches a catalog that was damaged, and changes it.
///
/// The first byte of an input chooses the kind of damage, the others are what ``CatalogDamage`` reads.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCatalogs(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (damage, changes) = FuzzInput(bytes, count).choice(of: CatalogDamage.allKinds) else { return -1 }
    let template = CatalogTemplate.shared
    let folder = FuzzFolder.url.appendingPathComponent("catalog")
    damage.apply(Array(changes), to: template, in: folder)
    wait {
        // Any of these may throw; none may crash, hang or read beyond a file.
        guard let catalog = try? Catalog(at: folder) else { return }
        _ = try? await catalog.verify()
        _ = try? await catalog.info
        _ = try? await catalog.search(matching: template.image, options: SearchOptions(bounds: .none, crops: .whole))
        if let query = try? await catalog.query(
            for: template.image, options: SearchOptions(effort: .prints, crops: .whole))
        {
            _ = try? await catalog.facets(
                of: query, by: [.type, .label, .attribute("year")], options: SearchOptions(bounds: .none))
        }
        _ = try? await catalog.duplicates()
        await search(catalog)
        await copyAndExport(catalog)
        await change(folder, template.image)
    }
    return 0
}

private func search(_ catalog: Catalog) async {
    _ = try? await catalog.search(catalog.query(similarTo: "0"), options: SearchOptions(bounds: .none))
    _ = try? await catalog.search(text: "T")
    _ = try? await catalog.suggestions(for: "T")
    _ = try? await catalog.reduceEntities(into: 0) { count, _ in count += 1 }
    for id in ["0", "1", "2"] {
        _ = try? await catalog.storedThumbnail(for: id)
        _ = try? await catalog.thumbnail(for: id, longSide: 20)
    }
    for field in [EntityField.label, .type, .attribute("year"), .title] {
        _ = try? await catalog.entities(where: field, isAnyOf: ["l", "t", "1991", "T1"])
    }
    guard let print = try? await catalog.featurePrint(for: "2"), let query = try? await catalog.query(for: [print])
    else { return }
    let filter = Condition.all([
        .isAnyOf(.type, ["t"]), .isAnyOf(.label, ["l"]), .isAnyOf(.attribute("year"), ["1990", "1992"]),
    ])
    var pageCount = 0
    do {
        for try await _ in catalog.pages(of: query, options: SearchOptions(limit: 1, bounds: .none, condition: filter))
        { pageCount += 1 }
    } catch {}
    precondition(pageCount <= 3, "\(pageCount) pages of three entities")
}

private func copyAndExport(_ catalog: Catalog) async {
    let places = ["copy", "export"].map { FuzzFolder.url.appendingPathComponent($0) }
    for place in places { try? FileManager.default.removeItem(at: place) }
    if (try? await catalog.copy(to: places[0])) != nil, let copy = try? Catalog(at: places[0]) { _ = copy.count }
    try? await catalog.export(to: places[1])
}

private func change(_ folder: URL, _ image: PixelBuffer) async {
    guard let indexer = try? CatalogIndexer(at: folder) else { return }
    try? await indexer.update("0") { $0.title = "New" }
    try? await indexer.upsert(IndexItem(CatalogEntity(id: "3", labels: ["l"]), image: .pixels(image)))
    try? await indexer.remove("1")
    _ = try? indexer.prune(evenIfAll: true)
}
