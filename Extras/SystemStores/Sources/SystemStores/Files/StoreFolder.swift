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
            throw StoreProblem(origin: url.path, reason: "there is no such folder")
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
            throw StoreProblem(origin: url.path, reason: "cannot be read: \((failure as NSError).localizedDescription)")
        }
        return found.sorted { $0.path < $1.path }
    }

    func data(of file: URL) throws(StoreProblem) -> Data {
        do {
            // The size of the file that is read counts: a link has a size of its own.
            let size = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size <= largestFile else {
                throw StoreProblem(
                    origin: file.path, reason: "has \(size) bytes; the largest that is read has \(largestFile)")
            }
            // Foundation 6.3 leaks a page whenever it reads an empty file.
            return size == 0 ? Data() : try Data(contentsOf: file)
        } catch let problem as StoreProblem {
            throw problem
        } catch {
            throw StoreProblem(origin: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}
