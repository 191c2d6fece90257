package import CLookalike
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
    private let current: Mutex<Catalog>
    private let open: @Sendable () throws -> Catalog
    private let process = ProcessOwner("catalog")

    init(_ open: @escaping @Sendable () throws -> Catalog) throws {
        current = Mutex(try open())
        self.open = open
    }

    /// Reads the catalog, which is opened again if another one has been made at its path.
    func reading<Result>(_ body: (Catalog) throws -> Result) throws -> Result {
        try process.check()
        let catalog = current.withLock(\.self)
        do {
            return try body(catalog)
        } catch let error as CatalogError where error.isUnwritable || error.reason == .missing {
            let other = try current.withLock { current in
                if current === catalog { current = try open() }
                return current
            }
            return try body(other)
        }
    }
}

/// Throws in a process that was forked after another one had called the library: the threads that compute, those of
/// Swift's tasks, and the locks of databases are in that one alone.
func checkProcess() throws {
    try check(
        firstProcess() == getpid(),
        "catalogs cannot be used in a child whose parent used this library before the process was forked; use it in the "
            + "child alone, or start a new process, as “spawn” of Python does")
}

/// The model behind a handle; nil for NULL.
func model(_ handle: OpaquePointer?) throws -> FeaturePrintModel? {
    try handle.map { handle in
        let object = try object(handle, ModelObject.self, named: "model")
        try object.process.check()
        return object.model
    }
}

@_cdecl("lookalike_catalog_open")
package func catalogOpen(
    _ path: UnsafePointer<CChar>?, _ handle: OpaquePointer?, _ threads: Int32
) -> OpaquePointer? {
    reported {
        let url = URL(fileURLWithPath: try text(path, named: "path"), isDirectory: true)
        let model = try model(handle)
        let executor = try threadLimit(threads).map { ComputeExecutor(threads: $0) }
        try checkProcess()
        return CInterface.handle(
            of: try CatalogObject { try Catalog(at: url, model: model, executor: executor) })
    }
}

private func reading<Result>(_ handle: OpaquePointer?, _ body: (Catalog) throws -> Result) throws -> Result {
    try object(handle, CatalogObject.self, named: "catalog").reading(body)
}

@_cdecl("lookalike_catalog_count")
package func catalogCount(_ handle: OpaquePointer?) -> Int64 {
    reported { try reading(handle) { Int64($0.count) } } ?? -1
}

@_cdecl("lookalike_catalog_info")
package func catalogInfo(_ handle: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    reported { try reading(handle) { catalog in try copied(JSONLine.text(waiting { try await catalog.info })) } }
}

// MARK: Searches

extension SearchRequest: JSONOptions {}

@_cdecl("lookalike_catalog_search")
package func catalogSearch(
    _ handle: OpaquePointer?, _ source: UnsafePointer<lookalike_source>?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let request = try options(json, SearchRequest.self)
        let options = try request.options()
        return try reading(handle) { catalog in
            let source = try source.map { try Source($0.pointee, of: catalog.model) }
            let name = request.words ?? request.similarTo ?? source?.name ?? "image"
            let image = try source?.pixels(catalog.decodingOptions(for: options.effort))
            var print: FeaturePrint?
            if case .print(let given) = source { print = given }
            let query = print
            return try copied(
                waiting {
                    try await request.answer(of: catalog, named: name, image: image, print: query, options: options)
                        .line
                })
        }
    }
}

/// Options of lists and facets.
private struct ListOptions: JSONOptions {
    private enum CodingKeys: String, CodingKey, CaseIterable { case `where`, text, ids, limit, by }

    static let keys = CodingKeys.allCases.map(\.rawValue)

    let `where`: String?
    let text: String?
    let ids: [String]?
    let limit: Int?
    let by: [EntityField]?

    func condition() throws -> Condition { try self.where.map { try Condition(parsing: $0) } ?? .everything }
}

@_cdecl("lookalike_catalog_list")
package func catalogList(
    _ handle: OpaquePointer?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let options = try options(json, ListOptions.self)
        try check(options.by == nil, "the options have no by")
        let limit = options.limit ?? .max
        try check(limit >= 0, "there cannot be \(limit) entities")
        let condition = try options.condition()
        try check(
            options.ids == nil || options.text == nil && options.where == nil,
            "entities are listed by their ids, or by a text and a condition: give one")
        return try reading(handle) { catalog in
            let entities = try waiting {
                if let ids = options.ids { return try await Array(catalog.entities(for: ids).prefix(limit)) }
                if let text = options.text {
                    return try await catalog.search(text: text, limit: limit, condition: condition)
                }
                return try await catalog.entities(where: condition, limit: limit).entities
            }
            return try copied(JSONLine.text(entities))
        }
    }
}

@_cdecl("lookalike_catalog_facets")
package func catalogFacets(
    _ handle: OpaquePointer?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let options = try options(json, ListOptions.self)
        try check(options.ids == nil && options.limit == nil, "the options have no ids and no limit")
        guard let fields = options.by, !fields.isEmpty else { throw InterfaceError("the options have no fields in by") }
        let condition = try options.condition()
        return try reading(handle) { catalog in
            let facets = try waiting {
                try await catalog.facets(where: condition, text: options.text, by: fields).facets
            }
            return try copied(JSONLine.text(facets ?? []))
        }
    }
}

@_cdecl("lookalike_catalog_duplicates")
package func catalogDuplicates(
    _ handle: OpaquePointer?, _ condition: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let condition = try parsed(condition)
        return try reading(handle) { catalog in
            let groups = try waiting { try await catalog.duplicates(where: condition) }
            return try copied(JSONLine.text(groups.map(DuplicateAnswer.init)))
        }
    }
}

@_cdecl("lookalike_catalog_export")
package func catalogExport(
    _ handle: OpaquePointer?, _ folder: UnsafePointer<CChar>?, _ condition: UnsafePointer<CChar>?
) -> Int64 {
    reported {
        let url = URL(fileURLWithPath: try text(folder, named: "folder"), isDirectory: true)
        let condition = try parsed(condition)
        return try reading(handle) { catalog in
            Int64(try waiting { try await catalog.export(to: url, where: condition) })
        }
    } ?? -1
}

@_cdecl("lookalike_catalog_thumbnail")
package func catalogThumbnail(
    _ handle: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ place: Int64, _ size: UnsafeMutablePointer<Int>?
) -> UnsafeMutableRawPointer? {
    reported {
        let id = try text(id, named: "id")
        guard let size else { throw InterfaceError("the memory for the size is NULL") }
        return try reading(handle) { catalog in
            let found = try waiting { try await catalog.storedThumbnail(for: id, image: Int(clamping: place)) }
            guard let found else { throw InterfaceError("“\(id)” has no thumbnail of image \(place), counted from 0") }
            guard let copy = malloc(found.count) else { throw InterfaceError("cannot allocate \(found.count) bytes") }
            found.copyBytes(to: UnsafeMutableRawBufferPointer(start: copy, count: found.count))
            size.pointee = found.count
            return copy
        }
    }
}

// MARK: Evaluation

private struct EvaluationOptions: JSONOptions {
    private enum CodingKeys: CodingKey, CaseIterable { case effort, leaveOut, falseAccepts }

    static let keys = CodingKeys.allCases.map(\.stringValue)

    let effort: SearchEffort?
    let leaveOut: Bool?
    let falseAccepts: Double?
}

@_cdecl("lookalike_catalog_evaluate")
package func catalogEvaluate(
    _ handle: OpaquePointer?, _ next: NextItem?, _ context: UnsafeMutableRawPointer?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let options = try options(json, EvaluationOptions.self)
        try check(options.falseAccepts.map { (0...1).contains($0) } ?? true, "falseAccepts is not 0 to 1")
        guard let next else { throw InterfaceError("the function for queries is NULL") }
        // The queries are there once, so that the catalog is opened again before them alone.
        let catalog = try reading(handle) { catalog in
            _ = try waiting { try await catalog.info }
            return catalog
        }
        var (report, problems) = (EvaluationReport(), [IndexProblem]())
        var (item, count) = (lookalike_item(), 0)
        while next(context, &item) {
            do {
                let (query, image) = try labeledQuery(item, of: catalog, effort: options.effort ?? .standard)
                let (unknown, evaluated) = try waiting {
                    let known = try await catalog.knownTargets(of: [query])
                    let search = SearchOptions(
                        limit: max(10, query.targets.count), effort: options.effort ?? .standard)
                    return (
                        query.targets(besides: known),
                        try await catalog.evaluate(
                            image, targets: query.targets, leaveOut: options.leaveOut ?? false, options: search)
                    )
                }
                problems += unknown.map {
                    IndexProblem(subject: query.path, reason: "the catalog has no entity “\($0)”")
                }
                report.add(evaluated, group: query.group)
            } catch let error as CancellationError {
                throw error
            } catch let error as CatalogError {
                throw error
            } catch {
                problems.append(IndexProblem(subject: "query \(count), counted from 0", reason: "\(error)"))
            }
            (item, count) = (lookalike_item(), count + 1)
            lookalike_report_progress(Int64(count), -1)
        }
        return try copied(
            JSONLine.text(EvaluationAnswer(report, falseAccepts: options.falseAccepts, problems: problems)))
    }
}

private func labeledQuery(
    _ item: lookalike_item, of catalog: Catalog, effort: SearchEffort
) throws -> (LabeledQuery, PixelBuffer) {
    let json = try text(item.entity, named: "entity")
    guard let query = try? JSONDecoder().decode(LabeledQuery.self, from: Data(json.utf8)) else {
        throw InterfaceError("it is no query such as {\"query\": \"a.jpg\", \"target\": \"id\"}: \(json)")
    }
    try check((0...1).contains(item.image_count), "a query has one image, not \(item.image_count)")
    let source = try item.images.map { try Source($0.pointee, of: catalog.model) } ?? .file(query.path)
    guard let image = try source.pixels(catalog.decodingOptions(for: effort)) else {
        throw InterfaceError("a query has an image, not a print")
    }
    return (query, image)
}

private func parsed(_ condition: UnsafePointer<CChar>?) throws -> Condition {
    try condition == nil ? .everything : Condition(parsing: text(condition, named: "condition"))
}

@_cdecl("lookalike_catalog_free")
package func catalogFree(_ handle: OpaquePointer?) { release(handle, CatalogObject.self) }
