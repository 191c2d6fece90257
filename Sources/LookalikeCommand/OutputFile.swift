import ArgumentParser
import CommandProcess
import Foundation

/// A file that a command writes when its work is done.
enum OutputFile {
    /// What the shell has opened stays, whatever it is: a pipe, or a file that is added to.
    private static let standardOutput = "/dev/stdout"

    /// Checks, before the work, that the file can be written.
    ///
    /// - Throws: `ValidationError` if the path names a folder, or its folder is missing or cannot be written.
    static func check(_ path: FilePath) throws {
        func refuse(_ reason: String) -> ValidationError {
            ValidationError("\(path.text.escaped) cannot be written: \(reason)")
        }
        let file = target(of: path.absolute)
        switch kind(of: file) {
        case S_IFDIR: throw refuse("it is a folder.")
        case S_IFREG, nil:
            let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
            guard kind(of: folder) == S_IFDIR else { throw refuse("there is no folder \(folder.escaped).") }
            guard access(folder, W_OK) == 0 else {
                let reason = errno
                throw refuse(String(cString: strerror(reason)))
            }
        default:
            guard access(file, W_OK) == 0 else {
                let reason = errno
                throw refuse(String(cString: strerror(reason)))
            }
        }
    }

    /// Replaces the file at once, so that nobody sees a part of it. The file keeps its permissions. Links, devices and
    /// pipes stay, and the data goes through them.
    ///
    /// - Throws: ``CommandError``.
    static func write(_ data: Data, to path: FilePath) throws(CommandError) {
        let file = URL(fileURLWithPath: target(of: path.absolute))
        do {
            if path.absolute == standardOutput {
                try FileHandle.standardOutput.write(contentsOf: data)
            } else if let kind = kind(of: file.path), kind != S_IFREG {
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: data)
                try handle.close()
            } else {
                try replace(file, with: data)
            }
        } catch {
            throw CommandError(path, cannotBe: "written", error)
        }
    }

    private static func replace(_ file: URL, with data: Data) throws {
        var status = stat()
        let permissions = stat(file.path, &status) == 0 ? status.st_mode & 0o7777 : nil
        try data.write(to: file, options: .atomic)
        if let permissions { chmod(file.path, permissions) }
    }

    /// The path at the end of a path's links. Nothing need be there yet.
    private static func target(of path: String) -> String {
        var path = path
        // Links of `/proc` to what a process has open lead to no path.
        if let kind = kind(of: path), kind != S_IFREG { return path }
        // The system follows 40 links, too.
        for _ in 0..<40 {
            if let resolved = realpath(path, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            path = link.hasPrefix("/") ? link : folder + "/" + link
        }
        return path
    }

    /// The kind of file at a path, such as `S_IFREG`; nil if nothing is there.
    static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
