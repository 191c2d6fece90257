public import Foundation

/// A path among the arguments of a command, as the shell and the system read it.
///
/// Foundation reads a relative path as text: it expands “~”, and takes “link/..” for the folder that holds the link. To
/// the system that is the folder above the link's target.
public struct FilePath: Sendable {
    /// The argument.
    public let text: String

    /// Nil for an empty argument, which would name the current folder. It is more often an unset variable.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// “.”
    public static let currentFolder = FilePath(text: ".")

    private init(text: String) { self.text = text }

    /// The absolute path; neither “..” nor links are resolved.
    public var absolute: String {
        text.hasPrefix("/") ? text : FileManager.default.currentDirectoryPath + "/" + text
    }

    /// Whether it is a folder that is there.
    public var isFolder: Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: absolute, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The file or folder.
    public var url: URL { URL(fileURLWithPath: absolute) }
    /// A folder, which need not be there.
    public var folderURL: URL { URL(fileURLWithPath: absolute, isDirectory: true) }
}
