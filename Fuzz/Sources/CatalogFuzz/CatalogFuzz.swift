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
        _ = try? await catalog.search(matching: template.image, bounds: .none, crops: .whole)
        if let query = try? await catalog.query(for: template.image, effort: .prints, crops: .whole) {
            _ = try? await catalog.facets(of: query, by: [.type, .label, .attribute("year")], bounds: .none)
        }
        _ = try? await catalog.search(similarTo: "0")
        _ = try? await catalog.search(text: "T")
        _ = try? await catalog.reduceEntities(into: 0) { count, _ in count += 1 }
        _ = try? await catalog.thumbnail(for: "1")
        if let indexer = try? CatalogIndexer(at: folder) { try? await indexer.remove("1") }
    }
    return 0
}
