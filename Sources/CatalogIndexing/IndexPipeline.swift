import CatalogEntities
import CatalogStore
import Compute
import FeaturePrints
import Foundation
import Imaging
import Inference
import LocalFeatures
import Synchronization

/// The one engine of index runs: collects items into chunks, and prepares a chunk while the one before is stored.
struct IndexPipeline: Sendable {
    private let indexer: CatalogIndexer
    /// The number of threads; nil for those that have nothing else to do.
    private let jobs: Int?
    private let timings: StageTimings?
    /// Whether an item fails with any of its images.
    private let needsAllImages: Bool
    private var chunk: IndexChunk
    private var prepared = PreparedChunk()
    /// What was committed so far, and all problems.
    private(set) var report = IndexReport()
    private var changesAtNextRefresh = Self.fewestChanges
    /// Attributes with a text that looks like a number, which are noted once.
    private var notedAttributes: Set<String> = []

    /// Images per thread that are committed together, by default.
    private static let imagesPerJob = 16
    /// The fewest changes after which derived files are made during a run.
    private static let fewestChanges = 4096

    init(
        indexer: CatalogIndexer, jobs: Int?, imagesPerJob: Int = Self.imagesPerJob, timings: StageTimings? = nil,
        needsAllImages: Bool = false
    ) {
        self.indexer = indexer
        self.jobs = jobs
        self.timings = timings
        self.needsAllImages = needsAllImages
        chunk = IndexChunk(limit: threadCount(jobs ?? availableProcessorCount) * imagesPerJob)
    }

    /// Makes derived files, also of an empty catalog: readers need them while the run goes on.
    mutating func begin() throws {
        // Nothing is changed yet, and nothing will be if they cannot be written.
        try indexer.turn.withLock { [indexer] _ in try indexer.store.refreshDerivedFiles(model: indexer.model) }
        try refresh()
    }

    mutating func add(_ problem: IndexProblem) {
        report.failed += 1
        report.problems.append(problem)
    }

    /// Adds an item. If it does not fit into the chunk any more, prepares the chunk and stores the one before.
    ///
    /// - Returns: whether something was committed.
    mutating func add(_ item: IndexItem) throws -> Bool {
        noteTexts(of: item)
        if chunk.add(item) { return false }
        let isCommitted = try flush(all: false)
        _ = chunk.add(item)
        return isCommitted
    }

    /// Notes the first text of an attribute that someone wrote for a number or a date.
    private mutating func noteTexts(of item: IndexItem) {
        for (name, text) in item.entity.attributes.sorted(by: { $0.key < $1.key }) where !notedAttributes.contains(name)
        {
            let (isNumber, isDate) = (NumberColumn.isLocalized(text), Self.isLocalizedDate(text))
            guard isNumber || isDate, ProductCode.kind(ofAttribute: name) == nil else { continue }
            notedAttributes.insert(name)
            let others = isNumber ? "numbers" : "dates"
            let words = "“\(name)” is “\(text)”, which is a text; comparisons with \(others) leave such values out"
            report.notes.append(IndexReport.Note(subject: item.origin, text: words))
        }
    }

    /// Whether a text is a day as people of some country write it, and not as catalogs compare it.
    private static func isLocalizedDate(_ text: String) -> Bool {
        // Regular expressions take longer than to store the text.
        guard (8...10).contains(text.utf8.count), text.utf8.allSatisfy("0123456789./-".utf8.contains) else {
            return false
        }
        let isDay = text.wholeMatch(of: /([0-9]{1,2}[.\/-]){2}[0-9]{4}|[0-9]{4}([.\/-][0-9]{1,2}){2}/) != nil
        return isDay && DateSpan(text) == nil
    }

    /// Whether adding the item is no work.
    func hasRoom(for item: IndexItem) -> Bool { chunk.hasRoom(for: item) }

    /// Prepares what was added, and stores what was prepared before.
    ///
    /// - Parameter all: whether to store something in any case.
    /// - Returns: whether something was committed; false at the end.
    mutating func flush(all: Bool = true) throws -> Bool {
        let items = chunk.items
        chunk = IndexChunk(limit: chunk.limit)
        // An entity that comes again is compared with what is stored, so that has to be stored.
        let ids = prepared.ids
        var isCommitted = false
        if items.contains(where: { ids.contains(ExactText($0.entity.id)) }) { isCommitted = try advance(to: []) }
        if !items.isEmpty { isCommitted = try advance(to: items) || isCommitted }
        if all, !isCommitted { isCommitted = try advance(to: []) }
        return isCommitted
    }

    /// Makes everything searchable.
    ///
    /// - Returns: the last report.
    func end() throws -> IndexReport {
        try indexer.turn.withLock { _ in try indexer.refreshDerivedFiles() }
        return report
    }

    private mutating func advance(to items: [IndexItem]) throws -> Bool {
        try Task.checkCancellation()
        let jobs = threadCount(jobs ?? availableThreadCount)
        let (stored, next) = try indexer.turn.withLock { [prepared, timings, indexer, needsAllImages] _ in
            try indexer.store(
                prepared, whilePreparing: items, jobs: jobs, needingAllImages: needsAllImages, timings: timings)
        }
        let isCommitted = !prepared.isEmpty
        prepared = next
        if isCommitted {
            report.add(stored)
            try refreshIfManyChanges()
        }
        return isCommitted
    }

    /// Makes the derived files after enough changes for the total work to stay proportional to the entities, so that
    /// readers find what was indexed.
    private mutating func refreshIfManyChanges() throws {
        if report.added + report.updated >= changesAtNextRefresh { try refresh() }
    }

    private mutating func refresh() throws {
        // To count the images takes time that grows with them.
        let imageCount = try indexer.turn.withLock { [indexer] _ in
            try indexer.refreshDerivedFiles()
            return try indexer.store.imageCount()
        }
        changesAtNextRefresh = report.added + report.updated + max(imageCount / 2, Self.fewestChanges)
    }
}

/// Items that are decoded, embedded and committed together; each id comes once.
struct IndexChunk {
    /// The number of images, or of times as many prints: these take little memory and time, and a commit costs both.
    let limit: Int
    private(set) var items: [IndexItem] = []
    private var ids: Set<ExactText> = []
    private var cost = 0

    private static let printsPerImage = 64

    init(limit: Int) { self.limit = limit }

    private var isFull: Bool { cost >= limit * Self.printsPerImage }

    func hasRoom(for item: IndexItem) -> Bool { !isFull && !ids.contains(ExactText(item.entity.id)) }

    /// False for an item that has to wait for the next chunk: this one is full, or has an item of the same id, which
    /// the later one replaces.
    mutating func add(_ item: IndexItem) -> Bool {
        guard !isFull, ids.insert(ExactText(item.entity.id)).inserted else { return false }
        items.append(item)
        for image in item.images {
            switch image {
            case .print: cost += 1
            // Some kilobytes, in memory.
            case .computed: cost += Self.printsPerImage / 8
            case .file, .data, .pixels: cost += Self.printsPerImage
            }
        }
        return true
    }
}

/// Items that were read and embedded and are yet to be stored, together.
struct PreparedChunk: Sendable {
    var entities: [PreparedEntity] = []
    var unchanged = 0
    /// The number of items that are not stored.
    var failed = 0
    var problems: [IndexProblem] = []
    var notes: [IndexReport.Note] = []

    var isEmpty: Bool { entities.isEmpty && unchanged == 0 && problems.isEmpty }

    /// The ids of the entities that are yet to be stored.
    var ids: Set<ExactText> { Set(entities.map { ExactText($0.record.id) }) }

    mutating func append(_ other: PreparedChunk) {
        entities += other.entities
        unchanged += other.unchanged
        failed += other.failed
        problems += other.problems
        notes += other.notes
    }
}

extension CatalogIndexer {
    /// Images of a forward pass, at most. A thread reads as many and embeds them before it reads more, so that few
    /// decoded images are in memory at once.
    static let largestBatch = 8
    /// What the decoded images of a thread take, but for the last one: eight photographs of 5 megapixels.
    static let mostPixelBytes = 128 << 20

    /// Stores a chunk, and prepares the next one on the other threads.
    func store(
        _ prepared: PreparedChunk, whilePreparing items: [IndexItem], jobs: Int, needingAllImages needsAll: Bool,
        timings: StageTimings?
    ) throws -> (stored: IndexReport, next: PreparedChunk) {
        enum Outcome: Sendable {
            case stored(IndexReport)
            case prepared(PreparedChunk)
        }
        let known = try known(items.map(\.entity.id))
        let items = items.map { $0.completed(by: known[ExactText($0.entity.id)]) }
        for item in items where known[ExactText(item.entity.id)] == nil { item.readAhead() }
        let batches = Self.batches(of: items.count, jobs: jobs)
        let outcomes = concurrentMap(batches.count + 1, threads: jobs) { index in
            Result {
                guard index > 0 else {
                    return Outcome.stored(try store(prepared, localFeatureModel: reader.extractor?.model.digest))
                }
                let batch = items[batches[index - 1]]
                return .prepared(
                    prepare(
                        batch, known: known, needingAllImages: needsAll, threads: max(1, jobs / batches.count),
                        timings: timings))
            }
        }
        var (stored, next) = (IndexReport(), PreparedChunk())
        for outcome in outcomes {
            switch try outcome.get() {
            case .stored(let report): stored = report
            case .prepared(let part): next.append(part)
            }
        }
        return (stored, next)
    }

    /// Smaller ones at the end, so that all threads are done at about the same time (guided self-scheduling:
    /// Polychronopoulos, Kuck, IEEE Transactions on Computers 36, 1987).
    private static func batches(of count: Int, jobs: Int) -> [Range<Int>] {
        var (batches, start) = ([Range<Int>](), 0)
        while start < count {
            let size = min(max((count - start) / jobs, 1), largestBatch)
            batches.append(start..<(start + size))
            start += size
        }
        return batches
    }

    private func prepare(
        _ items: ArraySlice<IndexItem>, known: [ExactText: KnownEntity], needingAllImages needsAll: Bool, threads: Int,
        timings: StageTimings?
    ) -> PreparedChunk {
        var prepared = PreparedChunk()
        var read: [ReadItem] = []
        var (pixelBytes, imageCount) = (0, 0)
        func embed() {
            self.embed(&read, threads: threads, timings: timings)
            (pixelBytes, imageCount) = (0, 0)
        }
        for item in items {
            if let reason = reader.problem(of: item) {
                prepared.failed += 1
                prepared.problems.append(IndexProblem(subject: item.origin, reason: reason))
                continue
            }
            prepared.notes += item.notes
            var current = ReadItem(item, known: known[ExactText(item.entity.id)])
            for _ in item.images {
                reader.readNext(&current, timings: timings)
                guard let pixels = current.images.last?.pixels else { continue }
                prepared.notes += pixels.decodingNotes.map { IndexReport.Note(subject: item.origin, text: $0) }
                pixelBytes += pixels.height * pixels.bytesPerRow
                imageCount += 1
                if pixelBytes >= Self.mostPixelBytes || imageCount >= Self.largestBatch {
                    read.append(current)
                    embed()
                    current = read.removeLast()
                }
            }
            read.append(current)
        }
        embed()
        for item in read {
            prepared.problems += item.problems
            guard var entity = item.prepared(needingAll: needsAll) else {
                prepared.failed += 1
                continue
            }
            let isStored = item.isStored(entity)
            if isStored, item.hasStamps(of: entity) {
                prepared.unchanged += 1
            } else {
                entity.hasOnlyNewStamps = isStored
                prepared.entities.append(entity)
            }
        }
        return prepared
    }

    /// Completes the images of items with their prints.
    private func embed(_ items: inout [ReadItem], threads: Int, timings: StageTimings?) {
        let pixels = items.flatMap(\.images).compactMap(\.pixels)
        guard !pixels.isEmpty else { return }
        var prints = model.eachPrint(of: pixels, threads: threads, timings: timings)[...]
        for index in items.indices { items[index].embed(&prints) }
    }

    /// Commits a chunk.
    ///
    /// - Parameter localFeatureModel: the digest of the model of its local features.
    func store(_ chunk: PreparedChunk, localFeatureModel: String?) throws -> IndexReport {
        var report = IndexReport()
        report.unchanged = chunk.unchanged
        report.failed = chunk.failed
        report.problems = chunk.problems
        report.notes = chunk.notes
        guard !chunk.entities.isEmpty else { return report }
        let hasFeatures = chunk.entities.contains { $0.images.contains { $0.new?.features != nil } }
        let stored = try store.store(
            chunk.entities, localFeatureModel: hasFeatures ? localFeatureModel : nil)
        // Readers need them as soon as the catalog says that it has local features.
        if stored.hasFirstLocalFeatures { try refreshDerivedFiles() }
        report.added = stored.added
        report.updated = stored.updated
        report.unchanged += stored.unchanged
        report.failed += stored.overtaken.count
        report.problems += stored.overtaken.map {
            IndexProblem(subject: $0.origin, reason: "got another image meanwhile; its metadata is not stored")
        }
        return report
    }

    private func known(_ ids: [String]) throws -> [ExactText: KnownEntity] {
        Dictionary(try store.knownEntities(forIDs: ids).map { (ExactText($0.record.id), $0) }) { first, _ in first }
    }

    /// Makes the derived files that are of an earlier state, after a change that is committed.
    ///
    /// - Throws: ``CatalogError``, with the reason `unsearchable` if they cannot be written.
    func refreshDerivedFiles() throws {
        do {
            try store.refreshDerivedFiles(model: model)
        } catch let error as CatalogError where error.isUnwritable {
            throw folder.error(.unsearchable(error.words))
        }
    }
}
