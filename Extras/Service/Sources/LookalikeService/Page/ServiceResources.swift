import Foundation
import Hummingbird

/// The files that are part of the program: the page and the description of the interface.
enum ServiceResources {
    /// The names of the page's files, with their media types.
    static let pageFiles: [(name: String, type: String)] =
        [("index.html", "text/html; charset=utf-8"), ("page.css", "text/css; charset=utf-8")]
        + ["adding", "api", "camera", "cards", "filters", "page", "photo", "stage"].map {
            ("\($0).js", "text/javascript; charset=utf-8")
        } + [("icon.svg", "image/svg+xml")]

    private static let files: [String: TaggedBody] = {
        var files: [String: TaggedBody] = [:]
        for name in ["openapi.json"] + pageFiles.map({ "Resources/" + $0.name }) {
            let url = Bundle.module.bundleURL.appendingPathComponent(name)
            guard let data = try? Data(contentsOf: url) else { continue }
            files[name] = TaggedBody(data)
        }
        return files
    }()

    /// - Throws: ``Problem`` if the file is not there: the program was installed without it.
    static func response(_ name: String, type: String, _ request: Request) throws -> Response {
        guard let file = files[name] else {
            throw Problem(.inner, "The program was installed without its file \(name).")
        }
        return Response(file, type: type, cacheControl: "no-cache", for: request)
    }
}
