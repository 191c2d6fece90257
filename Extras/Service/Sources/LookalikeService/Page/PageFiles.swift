#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Lookalike
import NIOCore

/// The files that are part of the program: the page and the description of the interface.
enum ServiceResources {
    /// The names of the page's files, with their media types.
    static let pageFiles: [(name: String, type: String)] =
        [("index.html", "text/html; charset=utf-8"), ("page.css", "text/css; charset=utf-8")]
        + ["adding", "api", "camera", "cards", "filters", "managing", "names", "page", "photo", "shelf", "stage"].map {
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

/// `/v1/samples`: photos that the page offers for a first search.
struct SampleHandler: Sendable {
    /// The files that are offered, by name; others of the folder are not readable.
    private let files: [String: Sample]
    /// What paths in answers start with.
    private let base: String
    /// The limit on all samples together. They are in memory, so that no number of clients takes more of it.
    static let maximumByteCount = 64 << 20

    private struct Sample: Sendable {
        let type: String
        let data: ByteBuffer
    }

    struct Listing: Encodable, Sendable {
        let samples: [String]
    }

    /// - Parameters:
    ///   - folder: its JPEG and PNG files are the samples, as many as fit into ``maximumByteCount``; nil for none.
    ///   - logger: gets a warning for each file that is left out.
    init(folder: URL?, base: String, logger: Logger) {
        self.base = base
        let keys: Set<URLResourceKey> = [.isRegularFileKey, .fileSizeKey]
        let found = folder.flatMap {
            try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: Array(keys))
        }
        var files: [String: Sample] = [:]
        var left = Self.maximumByteCount
        for url in (found ?? []).sorted(by: { $0.path < $1.path }) {
            let kind = url.pathExtension.lowercased()
            // Formats that every build decodes are shown by every browser.
            guard let format = ImageFormat.all.first(where: { $0.library == nil && $0.fileExtensions.contains(kind) })
            else { continue }
            guard let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: keys),
                values.isRegularFile == true, let size = values.fileSize, size <= left,
                let data = try? Data(contentsOf: url), data.count <= left
            else {
                logger.warning(
                    "A sample is left out: it cannot be read, or the samples are larger than 64 MiB together.",
                    metadata: ["file": "\(url.path)"])
                continue
            }
            files[url.lastPathComponent] = Sample(type: format.mediaType, data: ByteBuffer(bytes: data))
            left -= data.count
        }
        self.files = files
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        var allowed = CharacterSet.urlPathAllowed
        allowed.remove(charactersIn: "/;%")
        return Response(
            Listing(
                samples: files.keys.sorted().map {
                    base + "/v1/samples/" + ($0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
                }))
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        guard let sample = files[try context.pathComponent("name")] else {
            throw Problem(.unknownPath, "There is no sample of this name.")
        }
        return Response(
            status: .ok, headers: [.contentType: sample.type, .cacheControl: "private, max-age=3600"],
            body: ResponseBody(byteBuffer: sample.data))
    }
}
#endif
