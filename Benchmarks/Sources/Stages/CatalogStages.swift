import Foundation
import Lookalike
import VisualSearch

/// Opens a catalog.
final class OpenStage: Stage {
    private let folder: URL
    private let model: FeaturePrintModel
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        folder = try description.file("catalog")
        model = try .default()
    }

    func run() throws -> Double {
        let (time, catalog) = try milliseconds { try Catalog(at: folder, model: model) }
        result = [Float(catalog.count)]
        return time
    }
}

/// A buffer of pixels to the ten nearest entities, or to those that it shows.
final class WholeStage: Stage {
    private let image: PixelBuffer
    private let catalog: Catalog
    private let effort: SearchEffort
    private let crops: QueryCrops?
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        image = description.options["format"] == "rgb8" ? try photograph(description) : try screenPixels(description)
        catalog = try Catalog(at: try description.file("catalog"), model: try .default())
        effort = description.options["effort"].flatMap { SearchEffort(rawValue: $0) } ?? .prints
        crops =
            switch description.options["crops"] {
            case "whole": .whole
            case "localized": .localized
            default: nil
            }
    }

    func run() async throws -> Double {
        let start = ContinuousClock.now
        let bounds: MatchBounds = effort == .prints ? .none : .accepted
        let found = try await catalog.search(
            matching: image, options: SearchOptions(limit: 10, bounds: bounds, effort: effort, crops: crops))
        let time = elapsed(since: start)
        result = found.flatMap { [Self.mark($0.entity.id), Float($0.distance)] }
        return time
    }
}

extension WholeStage {
    /// The number that peers/catalog_stages.py uses for an id.
    private static func mark(_ id: String) -> Float { Float(id.utf8.reduce(0) { ($0 * 31 + Int($1)) % 8_388_593 }) }
}

/// The overhead of `VisualSearch` over `Catalogs`: the difference of both times for the same query.
final class LayerStage: Stage {
    private struct Item: CatalogRepresentable {
        static let typeDisplayRepresentation = TypeDisplayRepresentation(name: "Item")
        static let defaultQuery = Items()
        let id: String
        let title: String
        var displayRepresentation: DisplayRepresentation { DisplayRepresentation(title: "\(title)") }

        init(_ row: CatalogRow) throws {
            id = row.id
            title = row.entity.title ?? row.id
        }
    }

    private struct Items: EntityQuery {
        func entities(for identifiers: [String]) async throws -> [Item] { [] }
    }

    private let image: PixelBuffer
    private let engine: Catalog
    private let layer: EntityCatalog<Item>
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        image = try screenPixels(description)
        engine = try Catalog(at: try description.file("catalog"), model: try .default())
        layer = EntityCatalog(engine)
    }

    func run() async throws -> Double {
        let start = ContinuousClock.now
        let found = try await engine.search(
            matching: image, options: SearchOptions(limit: 10, bounds: MatchBounds(maxDistance: 2)))
        let alone = elapsed(since: start)
        let again = ContinuousClock.now
        let items = try await layer.search(
            matching: SemanticContentDescriptor(pixelBuffer: image), limit: 10, maxDistance: 2)
        let whole = elapsed(since: again)
        guard items.map(\.id) == found.map(\.entity.id), items.count == 10 else {
            throw StageError("the layer found something else")
        }
        result = [Float(alone), Float(whole)]
        return whole - alone
    }
}
