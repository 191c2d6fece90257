package import CLookalike
import CatalogEntities
import CatalogIndexing
import Catalogs
import Compute
import DefaultModel
import FeaturePrints
import Foundation
import Imaging

/// The object behind a `lookalike_indexer`.
private final class IndexerObject: Sendable {
    let indexer: CatalogIndexer
    let process = ProcessOwner("indexer")

    init(_ indexer: CatalogIndexer) { self.indexer = indexer }
}

private struct IndexerOptions: JSONOptions {
    private enum CodingKeys: CodingKey, CaseIterable { case thumbnails, localFeatures, maxMegapixels, checksum }

    static let keys = CodingKeys.allCases.map(\.stringValue)

    let thumbnails: Int?
    let localFeatures: Bool?
    let maxMegapixels: Double?
    let checksum: Bool?
}

@_cdecl("lookalike_indexer_open")
package func indexerOpen(
    _ path: UnsafePointer<CChar>?, _ handle: OpaquePointer?, _ json: UnsafePointer<CChar>?
) -> OpaquePointer? {
    reported {
        let url = URL(fileURLWithPath: try text(path, named: "path"), isDirectory: true)
        let model = try model(handle)
        let options = try options(json, IndexerOptions.self)
        let side = options.thumbnails ?? CatalogIndexer.defaultThumbnailSide
        try check((0...4096).contains(side), "thumbnails have 0 to 4096 pixels, not \(side)")
        if let most = options.maxMegapixels {
            try check(most > 0 && most <= 4294, "maxMegapixels is \(most); it is above 0 and at most 4294")
        }
        try checkProcess()
        return CInterface.handle(
            of: IndexerObject(
                try CatalogIndexer(
                    at: url, model: model, thumbnailSide: side == 0 ? nil : side,
                    localFeatures: options.localFeatures,
                    limits: options.maxMegapixels.map { DecodingOptions(maximumMegapixels: $0) } ?? DecodingOptions(),
                    readsUnchangedFiles: options.checksum ?? false)))
    }
}

private func indexer(_ handle: OpaquePointer?) throws -> CatalogIndexer {
    let object = try object(handle, IndexerObject.self, named: "indexer")
    try object.process.check()
    return object.indexer
}

private struct RunOptions: JSONOptions {
    private enum CodingKeys: CodingKey, CaseIterable { case jobs, prune, force, exclude }

    static let keys = CodingKeys.allCases.map(\.stringValue)

    let jobs: Int?
    let prune: Bool?
    let force: Bool?
    let exclude: [String]?

    func check() throws {
        try CInterface.check(jobs.map { (1...mostThreads).contains($0) } ?? true, "jobs is not 1 to \(mostThreads)")
    }
}

/// A function of the caller's that gives the next item.
package typealias NextItem =
    @convention(c) (_ context: UnsafeMutableRawPointer?, _ item: UnsafeMutablePointer<lookalike_item>?) -> Bool

@_cdecl("lookalike_indexer_index")
package func indexerIndex(
    _ handle: OpaquePointer?, _ next: NextItem?, _ context: UnsafeMutableRawPointer?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let indexer = try indexer(handle)
        let options = try options(json, RunOptions.self)
        try options.check()
        try check(options.exclude == nil, "the options have no exclude, which is for folders")
        guard let next else { throw InterfaceError("the function for items is NULL") }
        let items = CallerItems(next, context, of: indexer, isPruning: options.prune ?? false)
        // It is iterated once, on this thread.
        nonisolated(unsafe) let entries = items
        let report = try run(indexer, IndexEntries { AnyIterator { entries.next() } }, options, total: -1)
        guard options.prune ?? false else { return try copied(JSONLine.text(IndexAnswer(report))) }
        return try pruned(indexer, report, IndexEntries(items.files), options, subject: "the items")
    }
}

@_cdecl("lookalike_indexer_index_path")
package func indexerIndexPath(
    _ handle: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let indexer = try indexer(handle)
        let path = try text(path, named: "path")
        let options = try options(json, RunOptions.self)
        try options.check()
        let entries = try ImageSource.entries(
            at: URL(fileURLWithPath: path), excluding: options.exclude ?? [])
        let count = entries.count()
        var report = try run(indexer, entries, options, total: Int64(count.items + count.problems))
        report.notes += count.notes.map { .init(subject: path, text: $0) }
        guard options.prune ?? false else { return try copied(JSONLine.text(IndexAnswer(report))) }
        return try pruned(indexer, report, entries, options, subject: path)
    }
}

@_cdecl("lookalike_folder_images")
package func folderImages(_ path: UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>? {
    reported {
        let path = try text(path, named: "path")
        let entries = try ImageSource.entries(at: URL(fileURLWithPath: path, isDirectory: true))
        return try copied(JSONLine.text(Array(entries.paths)))
    }
}

/// Indexes entries until the caller interrupts the call; what was indexed until then stays.
///
/// - Parameter total: the number of entries, for the caller's progress function; -1 if it is not known.
private func run(
    _ indexer: CatalogIndexer, _ entries: IndexEntries, _ options: RunOptions, total: Int64
) throws -> IndexReport {
    var (isInterrupted, asked) = (false, ContinuousClock.now)
    let report = try withoutActuallyEscaping({ () -> Bool in
        let now = ContinuousClock.now
        guard now - asked >= .milliseconds(50) else { return false }
        (isInterrupted, asked) = (lookalike_is_interrupted(), now)
        return isInterrupted
    }) { isToEnd in
        // The sequence is iterated on this thread, while this function runs.
        nonisolated(unsafe) let isToEnd = isToEnd
        return try indexer.index(
            IndexEntries {
                let all = entries.makeIterator()
                return AnyIterator { isToEnd() ? nil : all.next() }
            }, jobs: options.jobs
        ) { lookalike_report_progress(Int64($0.processed), total) }
    }
    if isInterrupted { throw CancellationError() }
    return report
}

/// The answer after what is gone was removed.
private func pruned(
    _ indexer: CatalogIndexer, _ report: IndexReport, _ entries: IndexEntries, _ options: RunOptions, subject: String
) throws -> UnsafeMutablePointer<CChar> {
    if options.force ?? false {
        return try copied(JSONLine.text(IndexAnswer(report, removed: indexer.prune(evenIfAll: true))))
    }
    guard entries.itemCount > 0 else {
        // This is more often a disk that is not mounted than a catalog without images.
        throw IndexProblem(
            subject: subject, reason: "has no images, and nothing was removed. Is its disk mounted? Use force if it is."
        )
    }
    return try copied(JSONLine.text(IndexAnswer(report, removed: indexer.prune(inFoldersOf: entries).removed)))
}

/// The items that a function of the caller's gives, one after the other.
private final class CallerItems {
    private let give: NextItem
    private let context: UnsafeMutableRawPointer?
    private let indexer: CatalogIndexer
    private let isPruning: Bool
    private let folder = FileManager.default.currentDirectoryPath
    private var count = 0
    private var first: [ExactText: Int] = [:]
    /// The items without images in memory, if what is gone is to be removed.
    private(set) var files: [IndexItem] = []

    init(_ give: NextItem, _ context: UnsafeMutableRawPointer?, of indexer: CatalogIndexer, isPruning: Bool) {
        (self.give, self.context, self.indexer, self.isPruning) = (give, context, indexer, isPruning)
    }

    func next() -> Result<IndexItem, IndexProblem>? {
        var item = lookalike_item()
        guard give(context, &item) else { return nil }
        defer { count += 1 }
        let origin = "entity \(count), counted from 0"
        do {
            let item = try read(item, origin: origin)
            if let other = first.updateValue(count, forKey: ExactText(item.entity.id)) {
                first[ExactText(item.entity.id)] = other
                let reason = "has the same id “\(item.entity.id)” as entity \(other), counted from 0"
                return .failure(IndexProblem(subject: origin, reason: reason))
            }
            if isPruning, item.images.allSatisfy({ if case .file = $0 { true } else { false } }) { files.append(item) }
            return .success(item)
        } catch let problem as IndexProblem {
            return .failure(problem)
        } catch {
            return .failure(IndexProblem(subject: origin, reason: "\(error)"))
        }
    }

    private func read(_ item: lookalike_item, origin: String) throws -> IndexItem {
        let json = try text(item.entity, named: "entity")
        try check((0...1 << 20).contains(item.image_count), "there cannot be \(item.image_count) images")
        guard item.image_count > 0 else { return try IndexItem(json: json, in: folder, origin: origin) }
        guard let sources = item.images else { throw InterfaceError("the images are NULL") }
        let images = try (0..<Int(item.image_count)).map { place in
            try Source(sources[place], of: indexer.model).indexed()
        }
        return try IndexItem(json: json, in: folder, origin: origin, images: images)
    }
}

// MARK: Other changes

@_cdecl("lookalike_indexer_update")
package func indexerUpdate(_ handle: OpaquePointer?, _ changes: UnsafePointer<CChar>?) -> Bool {
    succeeded {
        let indexer = try indexer(handle)
        let changes = try EntityChanges(json: text(changes, named: "changes"))
        try indexer.change(changes.ids) { changes.apply(to: &$0) }
    }
}

@_cdecl("lookalike_indexer_remove")
package func indexerRemove(_ handle: OpaquePointer?, _ ids: UnsafePointer<CChar>?) -> Bool {
    succeeded {
        let indexer = try indexer(handle)
        guard let ids = try? JSONDecoder().decode([String].self, from: Data(text(ids, named: "ids").utf8)) else {
            throw InterfaceError("the ids are no JSON array of texts")
        }
        if !ids.isEmpty { try indexer.removeAll(ids) }
    }
}

@_cdecl("lookalike_indexer_free")
package func indexerFree(_ handle: OpaquePointer?) { release(handle, IndexerObject.self) }

@_cdecl("lookalike_catalog_merge")
package func catalogMerge(
    _ path: UnsafePointer<CChar>?, _ handle: OpaquePointer?, _ catalogs: UnsafePointer<UnsafePointer<CChar>?>?,
    _ count: Int64
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let url = URL(fileURLWithPath: try text(path, named: "path"), isDirectory: true)
        let model = try model(handle)
        try check((1...1 << 20).contains(count), "there cannot be \(count) catalogs to merge")
        guard let catalogs else { throw InterfaceError("the catalogs are NULL") }
        let urls = try (0..<Int(count)).map { place in
            URL(fileURLWithPath: try text(catalogs[place], named: "path of catalog \(place)"), isDirectory: true)
        }
        try checkProcess()
        let report = try onThread { try CatalogIndexer.merge(urls, into: url, model: model) }
        return try copied(JSONLine.text(IndexAnswer(report)))
    }
}

@_cdecl("lookalike_catalog_import")
package func catalogImport(
    _ path: UnsafePointer<CChar>?, _ handle: OpaquePointer?, _ prints: UnsafePointer<CChar>?,
    _ entities: UnsafePointer<CChar>?, _ localFeatures: UnsafePointer<CChar>?, _ thumbnails: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        func file(_ path: UnsafePointer<CChar>?, _ name: String) throws -> URL {
            URL(fileURLWithPath: try text(path, named: name))
        }
        let url = try file(path, "path")
        let model = try model(handle)
        let files = try PrintFiles(
            prints: file(prints, "file of prints"), entities: file(entities, "file of entities"),
            localFeatures: localFeatures == nil ? nil : file(localFeatures, "file of local features"),
            thumbnails: thumbnails == nil ? nil : file(thumbnails, "file of thumbnails"))
        try checkProcess()
        // An indexer makes a catalog that is not there, which would stay if the prints do not fit it.
        if case .catalog = Catalog.state(of: url) {} else { try files.check(for: model ?? .default()) }
        let hasLocalFeatures = localFeatures != nil
        let report = try onThread {
            try CatalogIndexer(at: url, model: model, localFeatures: hasLocalFeatures).index(files)
        }
        return try copied(JSONLine.text(IndexAnswer(report)))
    }
}

/// Does what takes long, and looks whether its task is cancelled, on a thread of its own, unless the caller interrupts
/// the call.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let executor = ComputeExecutor(threads: 1)
    return try waiting { try await executor.compute { _ in try body() } }
}
