import CatalogEntities
import Foundation
import GRDB
import Synchronization

/// One derived file of a catalog: who reads it, and who makes it.
///
/// Only the holder of ``DerivedFilesLock`` writes the file: an indexer as long as it exists, or a reader that finds the
/// file missing or stale and nobody else at work. A new file is written beside the old one and renamed, so that there
/// is a complete file at the path at any time. A file of an earlier state serves until the next one is there.
struct DerivedFileStore<File: DerivedFile>: Sendable {
    let entities: EntityStore
    let source: File.Source

    var folder: CatalogFolder { entities.folder }
    var url: URL { folder.url.appendingPathComponent(File.format.name) }

    /// The file at the path if it is whole and of the database's state or an earlier one; otherwise nil. O(1).
    func usable() throws -> (file: File, isCurrent: Bool)? {
        while let file = try mapped() {
            if let isCurrent = try isCurrent(file) { return (file, isCurrent) }
            // A writer that has just replaced it has forgotten the state that it was of.
            if FileIdentity(url) == file.contents.file.identity { return nil }
        }
        return nil
    }

    /// The file at the path; nil if it is missing, or its header or its size is invalid.
    func mapped() throws -> File? {
        do {
            return try File(url)
        } catch {
            // Making it again would not help.
            throw folder.error(
                .failed("\(File.format.name) cannot be read now: \(String(cString: strerror(error.code.rawValue)))"))
        }
    }

    /// Whether a file is of the database's state; nil if it is of none that the database came from.
    private func isCurrent(_ file: File) throws -> Bool? {
        let header = file.header
        guard header.modelDigest == File.modelDigest(of: source), File.isWidth(header.shape.width, of: source) else {
            return nil
        }
        return try entities.isCurrent(header)
    }

    /// What a reader searches: the file, made anew if that is possible; an earlier file while somebody else is about to
    /// make it anew; private memory where nobody is and nothing can be written, as on a full disk.
    func open() throws -> File {
        let found = try usable()
        if let found, found.isCurrent { return found.file }
        var isBusy = DerivedFilesLock.isHeld(in: folder)
        if folder.isWritable, let lock = DerivedFilesLock(ifFreeIn: folder) {
            defer { lock.release() }
            do {
                try refresh()
                if let file = try usable()?.file { return file }
            } catch let error as CatalogError where error.isUnwritable {
            } catch let error as CatalogError where error.reason == .busy {
                // A change by another process.
                isBusy = true
            }
        }
        if let found, isBusy { return found.file }
        return try makePrivate()
    }

    /// Makes the file unless it is current.
    ///
    /// - Precondition: the caller holds the lock.
    /// - Complexity: O(file) to copy what did not change, besides the images that changed.
    func refresh() throws {
        let found = try usable()
        if let found, found.isCurrent { return }
        try replace(reusing: found?.file)
    }

    /// Makes the file from the database alone.
    ///
    /// - Precondition: the caller holds the lock.
    func rebuild() throws { try replace(reusing: nil) }

    /// SHA-256 of what the file would hold; nil if the database is in another state than `revision`. O(catalog).
    func expectedDigest(at revision: CatalogRevision) throws -> Data? {
        try entities.read { db in
            guard try CatalogRevision.current(db) == revision else { return nil }
            var output = try DerivedOutput.digestOnly(folder: folder)
            _ = try File.write(db, source: source, folder: folder, reusing: nil, to: &output)
            return try output.digest()
        }
    }

    private func makePrivate() throws -> File {
        let memory = try entities.read { db in
            var output = try DerivedOutput.memory(folder: folder)
            try write(db, reusing: nil, to: &output)
            return try output.contents()
        }
        guard let contents = DerivedContents(memory, as: File.format), let file = File(contents) else {
            throw folder.error(.damaged("\(File.format.name) cannot be made from the database"))
        }
        return file
    }

    private func replace(reusing earlier: File?) throws {
        removeLeftovers()
        // Damage is not taken over.
        let earlier = earlier.flatMap { $0.contents.file.isUnchanged && $0.contents.isIntact ? $0 : nil }
        let temporary = folder.temporaryFile(beside: url)
        var isUsable = true
        do {
            try entities.read { db in
                unlink(temporary.path)
                var output = try DerivedOutput.file(temporary, folder: folder)
                try write(db, reusing: earlier, to: &output)
            }
            // If another program truncated the earlier file, what was copied may be zeros.
            isUsable = earlier?.contents.file.isUnchanged ?? true
            guard !isUsable || rename(temporary.path, url.path) == 0 else {
                throw folder.error(.unwritable(String(cString: strerror(errno))))
            }
        } catch {
            unlink(temporary.path)
            throw error
        }
        guard isUsable else {
            unlink(temporary.path)
            return try replace(reusing: nil)
        }
    }

    /// Writes sections and header within one read of the database.
    private func write(_ db: Database, reusing earlier: File?, to output: inout DerivedOutput) throws {
        guard let (id, revision) = try EntityStore.state(db) else {
            throw folder.error(.damaged("its settings are incomplete"))
        }
        let shape = try File.write(db, source: source, folder: folder, reusing: earlier, to: &output)
        let header = DerivedFileHeader(
            shape: shape, revision: revision, catalogID: id, modelDigest: File.modelDigest(of: source),
            contentDigest: try output.digest())
        try output.finish(header: header.encoded(as: File.format))
    }

    /// Removes the files of processes that were killed. Nobody else writes one: the caller holds the lock.
    private func removeLeftovers() {
        let prefix = File.format.name + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            guard name.hasPrefix(prefix), name.hasSuffix(".part") else { continue }
            unlink(folder.url.appendingPathComponent(name).path)
        }
    }
}

/// A derived file that a reader has open, replaced by the next one when a writer has made it.
final class OpenDerivedFile<File: DerivedFile>: Sendable {
    let store: DerivedFileStore<File>
    private let state: Mutex<State>

    private struct State {
        var file: File
        /// A file at the path that was of no use.
        var rejected: FileIdentity?
    }

    init(_ store: DerivedFileStore<File>) throws {
        self.store = store
        state = Mutex(State(file: try store.open()))
    }

    /// The newest file, unchanged at this moment.
    ///
    /// Call it before each scan, and ``DerivedFile/checkIsUnchanged(in:)`` afterwards: another program may change the
    /// file meanwhile.
    func current() throws -> File {
        try state.withLock { state in
            let found = FileIdentity(store.url)
            // Without its folder a catalog would find nothing, where nothing else is read.
            if found == nil, FileStamp.isMissing(store.folder.database.path) { throw store.folder.error(.missing) }
            if let found, found != state.file.contents.file.identity, found != state.rejected {
                // A file of an earlier state than what was made in private memory is of no use.
                if let newer = try store.usable(),
                    newer.isCurrent || newer.file.header.revision.number > state.file.header.revision.number
                {
                    state = State(file: newer.file)
                } else {
                    state.rejected = found
                }
            }
            if !state.file.contents.file.isUnchanged { state = State(file: try store.open()) }
            return state.file
        }
    }

    /// The header of the file that was used last.
    var header: DerivedFileHeader { state.withLock { $0.file.header } }
}
