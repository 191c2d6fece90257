package import CatalogEntities
import CatalogStore
import Compute
import Digests
package import FeaturePrints
package import Foundation
package import Imaging
import Inference
import LocalFeatures

/// Computes what a catalog stores of images, without a catalog.
package struct ImageComputer: Sendable {
    package let model: FeaturePrintModel
    private let limits: DecodingOptions
    private let extractor: LocalFeatureExtractor?

    /// - Parameter limits: the largest images that are decoded.
    package init(model: FeaturePrintModel, limits: DecodingOptions = DecodingOptions()) throws {
        (self.model, self.limits) = (model, limits)
        extractor = try CatalogModels.defaultLocalFeatureModel().map { SharedModels.extractor(for: $0) }
    }

    /// SHA-256 of the model of the local features; nil if the package has none.
    package var localFeatureModelDigest: String? { extractor?.model.digest }

    /// An image, and what is wanted of it besides the print.
    package struct Order: Sendable {
        package enum Image: Sendable {
            /// A path.
            case file(String)
            /// The bytes of an image file.
            case data(Data)
        }

        let image: Image
        /// What errors call the image.
        let name: String
        let withLocalFeatures: Bool
        /// The long side in pixels; nil for none.
        let thumbnailSide: Int?

        package init(_ image: Image, named name: String, withLocalFeatures: Bool, thumbnailSide: Int?) {
            (self.image, self.name) = (image, name)
            (self.withLocalFeatures, self.thumbnailSide) = (withLocalFeatures, thumbnailSide)
        }
    }

    /// A computed image, and what decoding ignored of it.
    package typealias Computed = (image: ComputedImage, notes: [String])

    /// Computes the images of orders, each with its error instead if it cannot be used.
    ///
    /// - Parameter threads: for the network; one thread does the rest.
    package func results(of orders: [Order], threads: Int) -> [Result<Computed, IndexProblem>] {
        var results: [Result<Computed, IndexProblem>] = []
        var read: [Result<(pixels: PixelBuffer, thumbnail: Data?, features: Data?), IndexProblem>] = []
        var pixelBytes = 0
        func embed() {
            let pixels = read.compactMap { try? $0.get().pixels }
            var prints = model.eachPrint(of: pixels, threads: threads, timings: nil)[...]
            for image in read {
                let name = orders[results.count].name
                results.append(
                    image.flatMap { image in
                        (prints.popFirst() ?? .failure(ModelError(subject: name, reason: .noDirection))).map {
                            (
                                ComputedImage(print: $0, localFeatures: image.features, thumbnail: image.thumbnail),
                                image.pixels.decodingNotes
                            )
                        }.mapError { IndexProblem(subject: name, reason: "\($0)") }
                    })
            }
            (read, pixelBytes) = ([], 0)
        }
        for order in orders {
            read.append(self.read(order))
            if case .success(let image) = read.last { pixelBytes += image.pixels.height * image.pixels.bytesPerRow }
            if pixelBytes >= CatalogIndexer.mostPixelBytes || read.count >= CatalogIndexer.largestBatch { embed() }
        }
        embed()
        return results
    }

    private func read(
        _ order: Order
    ) -> Result<(pixels: PixelBuffer, thumbnail: Data?, features: Data?), IndexProblem> {
        let reader = ItemReader(
            model: model, thumbnailSide: order.thumbnailSide, limits: limits, readsUnchangedFiles: false,
            extractor: order.withLocalFeatures ? extractor : nil)
        do throws(ImageError) {
            let options = reader.decodingOptions
            let data: Data
            switch order.image {
            case .file(let path): data = try contents(ofImageFile: path, limit: options.maximumByteCount)
            case .data(let bytes): data = bytes
            }
            let pixels = try PixelBuffer(decoding: data, named: order.name, options: options)
            guard
                case .pixels(_, let thumbnail, let features) = try reader.newImage(
                    pixels, named: order.name, timings: nil)
            else { preconditionFailure("a new image has pixels") }
            return .success((pixels, thumbnail?.data, features))
        } catch {
            return .failure(IndexProblem(subject: error.subject, reason: "\(error.reason)"))
        }
    }
}

extension FeaturePrintModel {
    /// The prints of images. Where a network gives one image no print, as if its output is zero, others have theirs.
    func eachPrint(
        of images: [PixelBuffer], threads: Int, timings: StageTimings?
    ) -> [Result<FeaturePrint, ModelError>] {
        guard !images.isEmpty else { return [] }
        do {
            return try featurePrints(for: images, threads: threads, timings: timings).map { .success($0) }
        } catch {
            return images.map { image in
                Result { () throws(ModelError) in
                    try featurePrints(for: [image], threads: threads, timings: timings)[0]
                }
            }
        }
    }
}
