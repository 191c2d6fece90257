#if Service
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Lookalike
import Multipart

/// `POST /v1/prints`: prints for clients that search elsewhere.
struct PrintHandler: Sendable {
    let service: ServiceState

    struct Answer: Encodable, Sendable {
        let prints: [FeaturePrint]
    }

    private static let maximumImageCount = 64

    func callAsFunction(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.read)
        let fields = try RequestFields(query: request.uri.query)
        try fields.check(["catalog"])
        let named = try fields.one("catalog").map { text throws(Problem) in
            guard let name = CatalogName(text) else { throw Problem(.invalidRequest, CatalogName.rule) }
            try context.require(name)
            return name
        }
        try service.imagePool.check(for: context.client)
        let held = try await service.bodies.read(request, for: context.client)
        let header = request.headers[.contentType] ?? "application/octet-stream"
        let client = context.client
        let images =
            HeaderValue(header).isOfImages && !ImageText.isDataURL(held.data)
            ? try Self.images(held.data, header: header)
            : try await service.parsing(held.data, for: client) { try Self.images($0, header: header) }
        let model = try await model(of: named)
        let time = service.configuration.limits.requestTime
        let late = Problem(.timeLimit, "The prints take longer than \(time).")
        let prints = try await context.working(limit: time, else: late) {
            defer { withExtendedLifetime(held.claim) {} }
            var prints: [FeaturePrint] = []
            for image in images {
                try Task.checkCancellation()
                // Once the first was accepted, the others wait.
                prints.append(try await print(of: image, model, for: client, isPatient: !prints.isEmpty))
            }
            return prints
        }
        return Response(Answer(prints: prints))
    }

    private func print(
        of data: Data, _ model: FeaturePrintModel, for client: WorkClient, isPatient: Bool
    ) async throws -> FeaturePrint {
        var options = service.configuration.limits.decoding
        options.neededSize = model.decodingOptions.neededSize
        return try await service.withImage(data, options: options, for: client, isPatient: isPatient) { image in
            try await computing { try model.featurePrint(for: image) }
        }
    }

    private func model(of catalog: CatalogName?) async throws -> FeaturePrintModel {
        guard let name = catalog else { return try await computing { try FeaturePrintModel.default() } }
        return try await service.store.catalog(name).catalog.model
    }

    private static func images(_ data: Data, header: String) throws -> [Data] {
        let type = HeaderValue(header)
        let images: [Data]
        switch type.name {
        case "application/json": images = try Body(json: data).images.map(\.data)
        case "multipart/form-data":
            images = try MultipartForm(data, contentType: header).parts.filter { $0.name == "image" }
                .map { try ImageText.bytes($0.body) }
        case _ where type.isOfImages:
            images = [try ImageText.bytes(data)]
        default:
            throw Problem(
                .unsupportedMediaType,
                "Images are one of image/* or application/octet-stream, multipart/form-data, or application/json.")
        }
        guard (1...maximumImageCount).contains(images.count) else {
            throw Problem(.invalidRequest, "A request has 1 to \(maximumImageCount) images, not \(images.count).")
        }
        return images
    }

    private struct Body: RequestObject {
        enum CodingKeys: String, CodingKey, CaseIterable { case images }

        let images: [ImageText]
    }
}
#endif
