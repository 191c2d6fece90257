import CMappedFiles
package import Foundation
package import Inference

/// A file of a default model, and where it is looked for.
///
/// 1. What the environment variable `LOOKALIKE_MODEL` names: a folder with the files, or the file `default.safetensors`
///    under any name. If it names neither, that is an error.
/// 2. The resource bundle `lookalike_DefaultModel`, or the file itself, in the folder of the library that this is a
///    part of, in the program's, and in its resources.
/// 3. `../share/lookalike` from these folders, `/usr/local/share/lookalike` and `/usr/share/lookalike`.
/// 4. The checkout that the program was built from.
package enum DefaultModelFile: String, Sendable, CaseIterable {
    /// The network that makes feature prints.
    case prints = "default.safetensors"
    /// The projection and the visual words of local descriptors.
    case localFeatures = "local-features.safetensors"

    /// The first place that has the file.
    ///
    /// - Throws: `ModelError` with the reason `notFound`, which lists the places.
    package func find() throws(ModelError) -> URL {
        try find(
            environment: ProcessInfo.processInfo.environment, folders: Self.programFolders,
            checkout: URL(fileURLWithPath: #filePath).deletingLastPathComponent())
    }

    /// - Parameters:
    ///   - folders: where the program and its resources are.
    ///   - checkout: the folder of the models that the program was built from.
    package func find(
        environment: [String: String], folders: [URL], checkout: URL
    ) throws(ModelError) -> URL {
        var places: [URL] = []
        if let path = environment["LOOKALIKE_MODEL"], !path.isEmpty {
            let url = URL(fileURLWithPath: path)
            let named = Self.isFolder(url) || self == .prints ? [url] : []
            places = Self.isFolder(url) ? [url.appendingPathComponent(rawValue)] : named
            if let first = places.first {
                guard Self.isFile(first) else { throw notFound([first]) }
                return first
            }
            // A model file of one's own may have its local features beside it.
            places.append(url.deletingLastPathComponent().appendingPathComponent(rawValue))
        }
        for folder in folders {
            for bundle in ["lookalike_DefaultModel.resources", "lookalike_DefaultModel.bundle"] {
                places.append(folder.appendingPathComponent(bundle).appendingPathComponent(rawValue))
            }
            places.append(folder.appendingPathComponent(rawValue))
        }
        let shared =
            folders.map { $0.appendingPathComponent("../share/lookalike").standardizedFileURL }
            + ["/usr/local/share/lookalike", "/usr/share/lookalike"].map { URL(fileURLWithPath: $0) }
        places += (shared + [checkout]).map { $0.appendingPathComponent(rawValue) }
        guard let found = places.first(where: Self.isFile) else { throw notFound(places) }
        return found
    }

    private func notFound(_ places: [URL]) -> ModelError {
        var seen: Set<String> = []
        return ModelError(
            subject: rawValue, reason: .notFound(places: places.map(\.path).filter { seen.insert($0).inserted }))
    }

    /// The folder of the library, if a program such as Python has loaded one; that of the program, also where it is
    /// reached through a link; and those of its resources.
    private static var programFolders: [URL] {
        let program = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
        let folders = [libraryFolder, Bundle.main.bundleURL, program, Bundle.main.resourceURL].compactMap(\.self)
        var seen: Set<String> = []
        return folders.filter { seen.insert($0.standardizedFileURL.path).inserted }
    }

    private static var libraryFolder: URL? {
        guard let path = lk_path_of_code(#dsohandle).map({ String(cString: $0) }), path.hasPrefix("/") else {
            return nil
        }
        return URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent()
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func isFile(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && !isFolder.boolValue
    }
}
