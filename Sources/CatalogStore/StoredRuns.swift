import CatalogEntities
import Foundation
import LocalFeatures

/// The runs of an external sort, until they are merged: in a file without a name, or in memory.
///
/// The file is in the folder that `TMPDIR` names, as those of other programs that sort on the disk; without it, in the
/// catalog's own.
struct StoredRuns: ~Copyable {
    private var output: DerivedOutput
    private let folder: CatalogFolder
    private var sections: [(stride: Int, count: Int)] = []

    /// - Throws: ``CatalogError`` if the file cannot be made.
    init(inFile: Bool, folder: CatalogFolder) throws {
        self.folder = folder
        let named = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 }
        let place = named.map { CatalogFolder(url: URL(fileURLWithPath: $0, isDirectory: true)) } ?? folder
        output = try .temporary(inFile ? place.temporaryFile(beside: place.invertedLists) : nil, folder: place)
    }

    /// - Throws: ``CatalogError``, for example if the disk is full.
    mutating func append(_ run: InvertedListsBuilder.Run) throws {
        try append(run.offsets)
        try append(run.images)
        try append(run.signatures)
    }

    private mutating func append<Element: BitwiseCopyable>(_ elements: [Element]) throws {
        try output.beginSection()
        try output.append(elements)
        sections.append((MemoryLayout<Element>.stride, elements.count))
    }

    /// The runs, mapped.
    ///
    /// - Throws: ``CatalogError``.
    consuming func finish() throws -> [InvertedListsMerge.StoredRun] {
        let contents = try output.contents()
        guard let layout = DerivedFileFormat.layout(of: sections), layout.byteCount <= contents.bytes.count else {
            throw folder.error(.failed("the runs of features.lists are incomplete"))
        }
        return stride(from: 0, to: sections.count, by: 3).map { run in
            InvertedListsMerge.StoredRun(
                offsets: contents.section(layout.sections[run], of: UInt64.self),
                images: contents.section(layout.sections[run + 1], of: UInt32.self),
                signatures: contents.section(layout.sections[run + 2], of: UInt32.self), owner: contents)
        }
    }
}
