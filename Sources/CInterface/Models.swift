import Catalogs
import Compute
import DefaultModel
import FeaturePrints
import Foundation
import Imaging

/// The object behind a `lookalike_model`.
final class ModelObject: Sendable {
    let model: FeaturePrintModel
    let digest: CText
    let process = ProcessOwner("model")

    init(_ model: FeaturePrintModel) throws(InterfaceError) {
        self.model = model
        digest = try CText(model.identity.digest)
    }
}

@_cdecl("lookalike_model_open")
package func modelOpen(_ path: UnsafePointer<CChar>?) -> OpaquePointer? {
    reported {
        // Not the default model that all share: another thread may have used that one when the process was forked.
        let url = try path == nil ? DefaultModelFile.prints.find() : URL(fileURLWithPath: text(path, named: "path"))
        return handle(of: try ModelObject(FeaturePrintModel(contentsOf: url)))
    }
}

@_cdecl("lookalike_model_dimension")
package func modelDimension(_ handle: OpaquePointer?) -> Int64 {
    reported { try Int64(object(handle, ModelObject.self, named: "model").model.dimension) } ?? 0
}

@_cdecl("lookalike_model_digest")
package func modelDigest(_ handle: OpaquePointer?) -> UnsafePointer<CChar>? {
    reported { try object(handle, ModelObject.self, named: "model").digest.pointer }
}

@_cdecl("lookalike_model_embed")
package func modelEmbed(
    _ handle: OpaquePointer?, _ images: UnsafePointer<OpaquePointer?>?, _ count: Int64, _ threads: Int32,
    _ prints: UnsafeMutablePointer<Float>?
) -> Bool {
    succeeded {
        let object = try object(handle, ModelObject.self, named: "model")
        try object.process.check()
        let limit = try threadLimit(threads)
        try check(count >= 0, "there cannot be \(count) images")
        guard count > 0 else { return }
        guard let images, let prints else { throw InterfaceError("the images, or the memory for prints, are NULL") }
        let dimension = object.model.dimension
        for first in stride(from: 0, to: Int(count), by: imagesAtOnce) {
            let pixels = try (first..<min(first + imagesAtOnce, Int(count))).map {
                try CInterface.object(images[$0], ImageObject.self, named: "image \($0), counted from 0,").pixels
            }
            for (index, print) in try object.model.featurePrints(for: pixels, threads: limit).enumerated() {
                (prints + (first + index) * dimension).update(from: print.vector, count: dimension)
            }
        }
    }
}

private struct LabelOptions: JSONOptions {
    private enum CodingKeys: CodingKey, CaseIterable { case labels, template, limit }

    static let keys = CodingKeys.allCases.map(\.stringValue)

    let labels: [String]?
    let template: String?
    let limit: Int?
}

@_cdecl("lookalike_model_label")
package func modelLabel(
    _ handle: OpaquePointer?, _ images: UnsafePointer<OpaquePointer?>?, _ count: Int64, _ json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    reported {
        let object = try object(handle, ModelObject.self, named: "model")
        try object.process.check()
        let options = try options(json, LabelOptions.self)
        let (names, template) = (options.labels ?? [], options.template ?? "{}")
        try check(!names.isEmpty, "the options have no labels")
        try check(template.contains("{}"), "the template lacks {}, the place of the label")
        try check(options.limit ?? 0 >= 0 && count >= 0, "the limit, or the number of images, is negative")
        let labels = try ImageLabels(names, template: template, model: object.model)
        guard let images = count > 0 ? images : nil else {
            try check(count == 0, "the images are NULL")
            return try copied("[]")
        }
        return try copied(
            JSONLine.text(
                (0..<Int(count)).map { place in
                    let image = try CInterface.object(
                        images[place], ImageObject.self, named: "image \(place), counted from 0,")
                    return try labels.ranked(for: object.model.featurePrint(for: image.pixels), limit: options.limit)
                }))
    }
}

/// Images whose prints are made before the next are.
private let imagesAtOnce = 256

@_cdecl("lookalike_model_free")
package func modelFree(_ handle: OpaquePointer?) { release(handle, ModelObject.self) }
