#if SystemStores
import Dispatch
import Foundation

/// The files of a store that is a folder.
struct StoreFolder {
    let url: URL
    /// The files to read, in lowercase.
    let pathExtensions: Set<String>
    /// The size of the largest file to read.
    let largestFile: Int

    /// The files in the folder and below it, by path. Hidden ones are left out: programs write a new version under such
    /// a name first.
    func files() throws(StoreProblem) -> [URL] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw StoreProblem(subject: url.path, reason: "there is no such folder")
        }
        var failure: (any Error)?
        let entries = FileManager.default.enumerator(
            at: url, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles]
        ) { _, error in
            failure = failure ?? error
            return true
        }
        let found = (entries?.compactMap { $0 as? URL } ?? []).filter {
            pathExtensions.contains($0.pathExtension.lowercased())
        }
        if found.isEmpty, let failure {
            throw StoreProblem(
                subject: url.path, reason: "cannot be read: \((failure as NSError).localizedDescription)")
        }
        return found.sorted { $0.path < $1.path }
    }

    func data(of file: URL) throws(StoreProblem) -> Data {
        do {
            // The size is that of the file that is read: a link has one of its own.
            let size = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size <= largestFile else {
                throw StoreProblem(
                    subject: file.path, reason: "has \(size) bytes; the largest that is read has \(largestFile)")
            }
            // Foundation 6.3 leaks a page whenever it reads an empty file.
            return size == 0 ? Data() : try Data(contentsOf: file)
        } catch let problem as StoreProblem {
            throw problem
        } catch {
            throw StoreProblem(subject: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}

/// Watches a folder and its subfolders for changes (inotify(7)).
enum FolderChanges {
    /// An element after each change; changes without a listener are merged into one.
    ///
    /// - Throws: ``StoreProblem`` when the folder cannot be watched.
    static func stream(of url: URL) throws(StoreProblem) -> AsyncStream<Void> {
        let watch = try FolderWatch(url)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.onTermination = { _ in watch.stop() }
        watch.start(onChange: { continuation.yield() }, onEnd: { continuation.finish() })
        return stream
    }
}

/// A watch of a folder and its subfolders. Unchecked: once `start` was called, only the queue touches `folders`.
private final class FolderWatch: @unchecked Sendable {
    private let descriptor: CInt
    private let queue = DispatchQueue(label: "lookalike.folder-changes")
    private let source: any DispatchSourceRead
    private let root: URL
    /// The watched folders, by watch number.
    private var folders: [CInt: URL] = [:]

    /// The changes of a folder's contents: a file written and closed, renamed into it or out of it, or removed. Other
    /// writes are left out, since a file is complete when it is closed.
    private static let changes = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR)

    init(_ url: URL) throws(StoreProblem) {
        root = url
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else {
            throw StoreProblem(subject: url.path, reason: "cannot be watched: \(String(cString: strerror(errno)))")
        }
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        guard add(url) else {
            let words = String(cString: strerror(errno))
            // A source that was never resumed cannot be released.
            source.setCancelHandler { [descriptor] in close(descriptor) }
            source.resume()
            source.cancel()
            throw StoreProblem(subject: url.path, reason: "cannot be watched: \(words)")
        }
        addFolders(below: url)
    }

    private func add(_ folder: URL) -> Bool {
        let number = inotify_add_watch(descriptor, folder.path, Self.changes)
        if number >= 0 { folders[number] = folder }
        return number >= 0
    }

    private func addFolders(below url: URL) {
        let entries = FileManager.default.enumerator(at: url, includingPropertiesForKeys: [.isDirectoryKey])
        while let entry = entries?.nextObject() as? URL {
            if (try? entry.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) == true { _ = add(entry) }
        }
    }

    func start(onChange: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable () -> Void) {
        source.setEventHandler { [self] in
            let (changed, rootIsGone) = readEvents()
            if changed { onChange() }
            if rootIsGone {
                onEnd()
                source.cancel()
            }
        }
        source.setCancelHandler { [descriptor] in close(descriptor) }
        source.resume()
    }

    func stop() { source.cancel() }

    private func readEvents() -> (changed: Bool, rootIsGone: Bool) {
        var changed = false
        var rootIsGone = false
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let nameStart = offset + MemoryLayout<inotify_event>.size
                    let name = buffer[nameStart..<(nameStart + Int(event.len))].prefix { $0 != 0 }
                    offset = nameStart + Int(event.len)
                    let isFolder = event.mask & UInt32(IN_ISDIR) != 0
                    if event.mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0, isFolder, let parent = folders[event.wd] {
                        let folder = parent.appendingPathComponent(String(decoding: name, as: UTF8.self))
                        // Files that are already in it are part of this change.
                        if add(folder) { addFolders(below: folder) }
                    }
                    if event.mask & UInt32(IN_IGNORED) != 0 {
                        folders[event.wd] = nil
                        continue
                    }
                    if event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF) != 0, folders[event.wd] == root {
                        rootIsGone = true
                    }
                    // A new file is reported when it is written and closed.
                    let isEmptyFile = event.mask & UInt32(IN_CREATE) != 0 && !isFolder
                    if !isEmptyFile { changed = true }
                }
            }
        }
        return (changed, rootIsGone)
    }
}
#endif
