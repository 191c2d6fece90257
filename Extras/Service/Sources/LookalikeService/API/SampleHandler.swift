import Foundation
import Hummingbird

/// `/v1/samples`: photos that the page offers for a first search.
struct SampleHandler: Sendable {
    /// The files that are offered, by name; others of the folder are not readable.
    private let files: [String: URL]
    private static let types = ["jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png"]

    struct Listing: Encodable, Sendable {
        let samples: [String]
    }

    /// - Parameter folder: its JPEG and PNG files are the samples; nil for none.
    init(folder: URL?) {
        let found = folder.flatMap {
            try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        let images = (found ?? []).filter { Self.types[$0.pathExtension.lowercased()] != nil }
        files = Dictionary(images.map { ($0.lastPathComponent, $0) }, uniquingKeysWith: { first, _ in first })
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
        guard let url = files[try context.pathComponent("name")],
            let type = Self.types[url.pathExtension.lowercased()],
            let data = try? await computing({ try Data(contentsOf: url) })
        else { throw Problem(.unknownPath, "There is no sample of this name.") }
        return Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "private, max-age=3600"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}
