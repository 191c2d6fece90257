import FeaturePrints
import Foundation
import LocalFeatures

extension LocalFiles {
    /// The problems of all that is stored; see `Catalog.verify()`.
    package func problems() throws -> [String] {
        let problems = try store.problems(dimension: model.dimension, wordCount: localFeatureModel?.wordCount)
        return try problems + matrix.store.problems(comparing: problems.isEmpty)
            + (lists?.store.problems(comparing: problems.isEmpty) ?? [])
            + keptDuplicates().removeIfDamaged { $0.groups != nil }
            + DerivedFileStore<MappedInvertedFile>(entities: store, source: model).removeIfDamaged {
                $0.contents.isIntact
            }
    }
}

extension DerivedFileStore {
    /// The problem of the file, which is made anew if that is possible; none for a file of an earlier state.
    ///
    /// - Parameter isComparing: whether to compare it with the database.
    fileprivate func problems(comparing isComparing: Bool) throws -> [String] {
        guard let problem = try problem(comparing: isComparing) else { return [] }
        let name = File.format.name
        guard folder.isWritable, let lock = DerivedFilesLock(ifFreeIn: folder) else {
            return ["\(name): \(problem); the next index run rebuilds it"]
        }
        defer { lock.release() }
        try rebuild()
        return ["\(name): \(problem); it was rebuilt"]
    }

    private func problem(comparing isComparing: Bool) throws -> String? {
        guard let file = try mapped() else { return "is missing or damaged" }
        guard file.contents.isIntact else { return "its contents do not match its digest" }
        guard let usable = try usable() else { return "is not this catalog’s" }
        // Another file may be there by now.
        guard isComparing, usable.isCurrent, usable.file.header == file.header else { return nil }
        guard let expected = try expectedDigest(at: file.header.revision) else { return nil }
        return expected == file.header.contentDigest ? nil : "does not match the database"
    }
}

extension DerivedFileStore {
    /// Removes a file that can be done without if it is damaged.
    ///
    /// - Returns: a sentence for a damaged file.
    fileprivate func removeIfDamaged(unless isIntact: (File) -> Bool) throws -> [String] {
        guard !FileStamp.isMissing(url.path), try mapped().map(isIntact) != true else { return [] }
        let lock = folder.isWritable ? DerivedFilesLock(ifFreeIn: folder) : nil
        defer { lock?.release() }
        let isRemoved = lock != nil && unlink(url.path) == 0
        return ["\(File.format.name): is damaged; \(isRemoved ? "it was removed" : "it is not used")"]
    }
}
