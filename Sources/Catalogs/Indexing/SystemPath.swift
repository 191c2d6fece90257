import Foundation

/// Paths as the system reads them: “link/..” is the folder above the link's target, and “~” is a name like any other.
/// Foundation resolves them as text, and so may name another file.
enum SystemPath {
    /// The absolute path, without “.” and, if it can be resolved, without “..”. Links stay where no “..” follows them.
    ///
    /// - Parameter folder: the absolute path of the folder that a relative path starts from.
    static func canonical(_ path: String, in folder: String = "/") -> String {
        let joined = path.hasPrefix("/") ? path : folder + "/" + path
        let parts = joined.split(separator: "/").filter { $0 != "." }
        guard let last = parts.lastIndex(of: "..") else { return "/" + parts.joined(separator: "/") }
        let start = "/" + parts[...last].joined(separator: "/")
        // Where it cannot be resolved, whoever reads the path gets the system's error.
        guard let resolved = realpath(start, nil) else { return "/" + parts.joined(separator: "/") }
        defer { free(resolved) }
        let rest = parts[(last + 1)...].map { "/" + $0 }.joined()
        let folder = String(cString: resolved)
        return rest.isEmpty ? folder : (folder == "/" ? "" : folder) + rest
    }
}
