import Foundation

/// The images below a folder. An image's id is its path below the folder without the extension.
enum FolderScan {
    private static let extensions: Set<String> = ["jpg", "jpeg", "jpe", "png"]

    /// Hidden files and folders are skipped. Links are followed, but no folder is entered twice.
    static func items(in root: URL) throws -> (items: [IndexItem], problems: [IndexProblem]) {
        let base = root.standardizedFileURL
        var items: [IndexItem] = []
        var problems: [IndexProblem] = []
        var entered: Set<String> = [base.resolvingSymlinksInPath().path]
        func visit(_ folder: URL, below: String) {
            let names: [String]
            do {
                names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            } catch {
                problems.append(IndexProblem(origin: folder.path, reason: "cannot be listed"))
                return
            }
            for name in names where !name.hasPrefix(".") {
                let url = folder.appendingPathComponent(name)
                let path = below + name
                var isFolder: ObjCBool = false
                let exists = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
                if exists, isFolder.boolValue {
                    if entered.insert(url.resolvingSymlinksInPath().path).inserted { visit(url, below: path + "/") }
                } else if extensions.contains(url.pathExtension.lowercased()) {
                    // A broken link is an item too: reading it reports the reason.
                    let id = String(path.dropLast(url.pathExtension.count + 1))
                    items.append(IndexItem(entity: CatalogEntity(id: id, image: url.path), origin: url.path))
                }
            }
        }
        visit(base, below: "")
        return (items, problems)
    }
}
