import ArgumentParser
import CommandProcess
import Foundation

/// A file that a command writes when its work is done.
enum OutputFile {
    /// Why a file was not written.
    struct WriteError: Error, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "\(path): cannot be written: \(reason)" }
    }

    /// Finds out before the work whether the file can be made.
    ///
    /// - Throws: `ValidationError` if it is a folder, there is no folder for it, or that cannot be written to.
    static func check(_ path: FilePath) throws {
        func refuse(_ reason: String) -> ValidationError {
            ValidationError("\(path.text.escaped) cannot be written: \(reason)")
        }
        switch kind(of: path.absolute) {
        case S_IFDIR: throw refuse("it is a folder.")
        case S_IFREG, nil:
            let folder = path.url.deletingLastPathComponent().path
            guard kind(of: folder) == S_IFDIR else { throw refuse("there is no folder \(folder.escaped).") }
            guard access(folder, W_OK) == 0 else {
                let reason = errno
                throw refuse(String(cString: strerror(reason)))
            }
        default:
            guard access(path.absolute, W_OK) == 0 else {
                let reason = errno
                throw refuse(String(cString: strerror(reason)))
            }
        }
    }

    /// Replaces the file at once, so that nobody sees a part of it. It keeps its permissions. A link stays, and so does
    /// a device or a pipe: what is written goes through it.
    ///
    /// - Throws: ``WriteError``.
    static func write(_ data: Data, to path: FilePath) throws(WriteError) {
        let target = realpath(path.absolute, nil).map { target in
            defer { free(target) }
            return String(cString: target)
        }
        let file = URL(fileURLWithPath: target ?? path.absolute)
        do {
            if let kind = kind(of: file.path), kind != S_IFREG {
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: data)
                try handle.close()
            } else {
                try replace(file, with: data)
            }
        } catch {
            let reason = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
            throw WriteError(
                path: path.text,
                reason: reason.domain == NSPOSIXErrorDomain
                    ? String(cString: strerror(CInt(reason.code))) : reason.localizedDescription)
        }
    }

    private static func replace(_ file: URL, with data: Data) throws {
        var status = stat()
        let permissions = stat(file.path, &status) == 0 ? status.st_mode & 0o7777 : nil
        try data.write(to: file, options: .atomic)
        if let permissions { chmod(file.path, permissions) }
    }

    /// `S_IFREG` or another kind of what a path leads to; nil if nothing is there.
    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
