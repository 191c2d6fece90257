import Foundation

/// Patterns of the files and folders that a scan leaves out, as in gitignore: `*`, `?`, `[…]` and `**`; with a slash at
/// its end a pattern is for folders, with one elsewhere for paths below the root, and with `!` before it what it
/// matches is taken in. The last pattern that matches decides. A `#` is a letter.
///
/// Its language is that of <https://git-scm.com/docs/gitignore>.
package struct ExclusionPatterns: Sendable {
    private struct Pattern: Sendable {
        let text: String
        let takesIn: Bool
        let isForFolders: Bool
        let names: [String]
    }

    /// What file servers, systems and photo libraries keep beside the images: bins, snapshots, thumbnails and previews.
    package static let usual = [
        "@eaDir/", "#recycle/", "#snapshot/", "@Recycle/", "@Recently-Snapshot/", "$RECYCLE.BIN/",
        "System Volume Information/", "lost+found/", "__MACOSX/", "*.lrdata/", "**/*.photoslibrary/resources/",
        "**/*.photolibrary/Thumbnails/", "**/*.photolibrary/Previews/", "**/CaptureOne/Cache/",
    ]

    private let patterns: [Pattern]

    /// - Parameter patterns: come after the ``usual`` ones, so that `!@eaDir/` takes these folders in.
    package init(_ patterns: [String] = []) {
        self.patterns = (Self.usual + patterns).map { text in
            let takesIn = text.hasPrefix("!")
            var pattern = Substring(takesIn ? String(text.dropFirst()) : text)
            let isForFolders = pattern.hasSuffix("/")
            if isForFolders { pattern.removeLast() }
            let names = pattern.split(separator: "/").map(String.init)
            return Pattern(
                text: text, takesIn: takesIn, isForFolders: isForFolders,
                names: pattern.contains("/") ? names : ["**"] + names)
        }
    }

    /// The pattern that leaves a file or folder out; nil if it is taken in. Those in a folder that is left out are not
    /// asked for.
    ///
    /// - Parameter path: below the root.
    package func exclusion(of path: String, isFolder: Bool) -> String? {
        let names = path.split(separator: "/").map(String.init)
        let last = patterns.last {
            (isFolder || !$0.isForFolders) && Self.matches($0.names[...], names[...])
        }
        return last.flatMap { $0.takesIn ? nil : $0.text }
    }

    private static func matches(_ pattern: ArraySlice<String>, _ path: ArraySlice<String>) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        let rest = pattern.dropFirst()
        if first == "**" {
            // At the end it is for all that is in a folder, and not for the folder.
            return rest.isEmpty
                ? !path.isEmpty : path.indices.contains { matches(rest, path[$0...]) }
        }
        guard let name = path.first, fnmatch(first, name, 0) == 0 else { return false }
        return matches(rest, path.dropFirst())
    }
}
