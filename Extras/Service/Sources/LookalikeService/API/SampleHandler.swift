import Foundation
import Hummingbird
import Logging
import Lookalike

/// `/v1/samples`: photos that the page offers for a first search.
struct SampleHandler: Sendable {
    /// The files that are offered, by name; others of the folder are not readable.
    private let files: [String: Sample]
    /// All are in memory, so that no number of clients takes more of it.
    static let maximumByteCount = 64 << 20

    private struct Sample: Sendable {
        let type: String
        let data: ByteBuffer
    }

    struct Listing: Encodable, Sendable {
        let samples: [String]
    }

    /// - Parameter folder: its JPEG and PNG files are the samples, those that fit into ``maximumByteCount`` together;
    ///   nil for none.
    /// - Parameter logger: gets a warning for each that is left out.
    init(folder: URL?, logger: Logger) {
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
                    "/v1/samples/" + ($0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
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
