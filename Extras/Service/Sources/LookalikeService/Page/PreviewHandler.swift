#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart
import NIOCore

/// `POST /v1/previews`: a photo that browsers cannot show, such as HEIC or TIFF, as a JPEG file.
struct PreviewHandler: Sendable {
    let service: ServiceState

    /// As large as the page sends photos: a preview can be searched in the photo's place.
    private static let longSide = 2560
    private static let quality = 90

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        try RequestFields(query: request.uri.query).check([])
        guard HeaderValue(request.headers[.contentType] ?? "application/octet-stream").isOfImages else {
            throw Problem(.unsupportedMediaType, "A preview is of an image: image/* or application/octet-stream.")
        }
        try service.imagePool.check(for: context.client)
        let held = try await service.bodies.read(request, for: context.client)
        let time = service.configuration.limits.requestTime
        let late = Problem(.timeLimit, "The preview takes longer than \(time).")
        let preview = try await context.working(limit: time, else: late) {
            defer { withExtendedLifetime(held.claim) {} }
            return try await jpeg(of: held.data, for: context.client)
        }
        return Response(
            status: .ok, headers: [.contentType: "image/jpeg", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: preview)))
    }

    private func jpeg(of data: Data, for client: WorkClient) async throws -> Data {
        var options = service.configuration.limits.decoding
        options.neededLongSide = Self.longSide
        return try await service.withImage(try ImageText.bytes(data), options: options, for: client) { image in
            try await computing {
                let scale = min(1, Double(Self.longSide) / Double(max(image.width, image.height)))
                func scaled(_ side: Int) -> Int { max(1, Int((Double(side) * scale).rounded())) }
                let resizer = Resizer(width: scaled(image.width), height: scaled(image.height))
                return try resizer.resizedPixels(of: image).jpegData(quality: Self.quality)
            }
        }
    }
}
#endif
