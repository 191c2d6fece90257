import CatalogEntities
import CatalogSearch
import Catalogs
import Compute
import FeaturePrints
import Foundation
import Imaging
import Synchronization

/// The object behind a `lookalike_catalog`.
private final class CatalogObject: Sendable {
    let catalog: Catalog
    let process = ProcessOwner("catalog")

    init(_ catalog: Catalog) { self.catalog = catalog }
}

/// The process that opened the first catalog. The threads of Swift's tasks are in that one alone.
private let tasks = Mutex<ProcessOwner?>(nil)

@_cdecl("lookalike_catalog_open")
package func catalogOpen(_ path: UnsafePointer<CChar>?, _ model: OpaquePointer?) -> OpaquePointer? {
    reported {
        let url = URL(fileURLWithPath: try text(path, named: "path"), isDirectory: true)
        let model = try model.map { handle in
            let object = try object(handle, ModelObject.self, named: "model")
            try object.process.check()
            return object.model
        }
        try tasks.withLock { owner in
            let first = owner ?? ProcessOwner("first catalog")
            owner = first
            try first.check()
        }
        return handle(of: CatalogObject(try Catalog(at: url, model: model)))
    }
}

private func openCatalog(_ handle: OpaquePointer?) throws -> Catalog {
    let object = try object(handle, CatalogObject.self, named: "catalog")
    try object.process.check()
    return object.catalog
}

@_cdecl("lookalike_catalog_count")
package func catalogCount(_ handle: OpaquePointer?) -> Int64 {
    reported { try Int64(openCatalog(handle).count) } ?? -1
}

@_cdecl("lookalike_catalog_search")
package func catalogSearch(
    _ handle: OpaquePointer?, _ image: OpaquePointer?, _ options: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let catalog = try openCatalog(handle)
        let image = try object(image, ImageObject.self, named: "image").pixels
        return try answer(of: catalog, to: image, named: "image", searchOptions(options))
    }
}

@_cdecl("lookalike_catalog_search_file")
package func catalogSearchFile(
    _ handle: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let catalog = try openCatalog(handle)
        let path = try text(path, named: "path")
        let options = try searchOptions(options)
        let image = try PixelBuffer(
            contentsOf: URL(fileURLWithPath: path), options: catalog.decodingOptions(for: options.effort))
        return try answer(of: catalog, to: image, named: path, options)
    }
}

@_cdecl("lookalike_catalog_list")
package func catalogList(
    _ handle: OpaquePointer?, _ condition: UnsafePointer<CChar>?, _ limit: Int64
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let catalog = try openCatalog(handle)
        try check(limit >= 0, "there cannot be \(limit) entities")
        let condition = try condition == nil ? .everything : Condition(parsing: text(condition, named: "condition"))
        let entities = try waiting { try await catalog.entities(where: condition, limit: Int(limit)).entities }
        return try copied(JSONLine.text(entities))
    }
}

@_cdecl("lookalike_catalog_free")
package func catalogFree(_ handle: OpaquePointer?) { release(handle, CatalogObject.self) }

private func answer(
    of catalog: Catalog, to image: PixelBuffer, named name: String, _ options: SearchOptions
) throws -> UnsafeMutablePointer<CChar> {
    let matches = try waiting {
        try await catalog.search(catalog.query(for: image, options: options), options: options)
    }
    return try copied(JSONLine.text(SearchAnswer(query: name, image: image, matches: matches)))
}

private func searchOptions(_ json: UnsafePointer<CChar>?) throws -> SearchOptions {
    guard json != nil else { return try SearchRequest().options() }
    let data = Data(try text(json, named: "options").utf8)
    do {
        let unknown = try JSONDecoder().decode([String: Ignored].self, from: data).keys.filter {
            !SearchRequest.keys.contains($0)
        }
        try check(unknown.isEmpty, "the options have no \(unknown.sorted().joined(separator: ", "))")
        return try JSONDecoder().decode(SearchRequest.self, from: data).options()
    } catch is DecodingError {
        throw InterfaceError("the options are no JSON object with members as they are described")
    }
}

/// Any value of JSON.
private struct Ignored: Decodable {
    init(from decoder: any Decoder) {}
}
