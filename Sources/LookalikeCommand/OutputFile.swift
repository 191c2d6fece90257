import ArgumentParser
import Foundation

/// A file that a command writes when its work is done.
enum OutputFile {
    /// Finds out before the work whether the file can be made.
    ///
    /// - Throws: `ValidationError` if there is no folder for it, or the folder cannot be written to.
    static func check(_ path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw ValidationError("\(path.escaped) cannot be written: there is no folder \(folder.escaped).")
        }
        guard access(folder, W_OK) == 0 else {
            let reason = errno
            throw ValidationError("\(path.escaped) cannot be written: \(String(cString: strerror(reason)))")
        }
    }
}
