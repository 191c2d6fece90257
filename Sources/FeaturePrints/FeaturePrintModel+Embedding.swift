package import Compute
public import Imaging
public import Inference

extension FeaturePrintModel {
    /// Embeds an image of any size. The image is stretched to the network's input.
    ///
    /// - Parameter threads: by default the threads that have nothing else to do (`ComputeExecutor`).
    /// - Throws: `ModelError` when the network's output has no direction.
    public func featurePrint(
        for image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> FeaturePrint {
        try featurePrints(for: [image], threads: threads, timings: timings)[0]
    }

    /// Embeds many images. The prints come in the order of the images.
    ///
    /// The result for an image depends neither on `threads` nor on the other images.
    /// - Throws: `ModelError` when the network's output has no direction.
    public func featurePrints(
        for images: [PixelBuffer], threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> [FeaturePrint] {
        try embed(
            images.map { ImageCrop($0.overContrastingGround()) }, localizing: false, threads: threads, timings: timings
        ).map(\.print)
    }

    /// Embeds many crops, and localizes the object in each. The results come in the order of the crops.
    ///
    /// The result for a crop depends neither on `threads` nor on the other crops.
    /// - Parameter localizing: whether objects are localized, if the model can; the prints alone take less time.
    /// - Throws: `ModelError` when the network's output has no direction.
    /// - Precondition: ``canEmbed(_:)`` holds for the crops' quadrilaterals.
    public func embed(
        _ crops: [ImageCrop], localizing: Bool = true, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> [CropPrint] {
        try uncancelled {
            try embed(crops, localizing: localizing, threads: threads, timings: timings, cancellation: .none)
        }
    }

    /// - Throws: `ModelError`, and `CancellationError` between batches.
    package func embed(
        _ crops: [ImageCrop], localizing: Bool, threads: Int? = nil, timings: StageTimings? = nil,
        cancellation: Cancellation
    ) throws -> [CropPrint] {
        let threads = threadCount(threads ?? availableThreadCount)
        // All threads work on one batch of few images, or on one after another if their maps are large. With many
        // images each thread has batches of its own.
        let areFew = crops.count < 2 * threads
        let size = min(areFew ? max(crops.count, 1) : network.preferredBatchSize, network.largestBatch)
        let batches = stride(from: 0, to: crops.count, by: size).map { $0..<min($0 + size, crops.count) }
        let threadsPerBatch = areFew || batches.count == 1 ? threads : 1
        let results = concurrentMap(batches.count, threads: areFew ? 1 : threads) { index in
            Result {
                try cancellation.check()
                return try prints(
                    of: crops[batches[index]], localizing: localizing, threads: threadsPerBatch, timings: timings)
            }
        }
        var all: [CropPrint] = []
        for result in results { all += try result.get() }
        return all
    }

    /// The corners of the object that an image is about, as fractions of its sides; nil for a model without
    /// localization. Takes less time than with the print.
    package func localize(_ image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil) -> Quadrilateral? {
        guard localizesObjects else { return nil }
        let threads = threadCount(threads ?? availableThreadCount)
        return images.run([ImageCrop(image)], results: .corners, threads: threads, timings: timings) {
            network.corners(0, in: $0).map { quadrilateral($0) }
        }
    }

    /// Whether the network localizes the object in an image.
    public var localizesObjects: Bool { network.localizesObjects }

    /// Whether a quadrilateral of an image can be rectified and embedded; see `Rectifier.canRectify(_:)`.
    public func canEmbed(_ quadrilateral: Quadrilateral) -> Bool { images.input.rectifier.canRectify(quadrilateral) }

    private func prints(
        of crops: ArraySlice<ImageCrop>, localizing: Bool, threads: Int, timings: StageTimings?
    ) throws(ModelError) -> [CropPrint] {
        let results: NetworkResults = localizing ? [.output, .corners] : .output
        return try images.run(crops, results: results, threads: threads, timings: timings) {
            workspace throws(ModelError) in
            var prints: [CropPrint] = []
            for (index, crop) in crops.enumerated() {
                let vector = Array(network.output(index, in: workspace))
                guard vector.allSatisfy(\.isFinite), vector.contains(where: { $0 != 0 }) else {
                    throw ModelError(subject: identity.name, reason: .noDirection)
                }
                let norm = Self.norm(of: vector)
                guard abs(norm - 1) <= Self.normTolerance else {
                    throw ModelError(subject: identity.name, reason: .notNormalized(norm: norm))
                }
                var object = localizing ? network.corners(index, in: workspace).map { quadrilateral($0) } : nil
                if let outer = crop.quadrilateral { object = object.flatMap { outer.projecting($0) } }
                prints.append(CropPrint(print: FeaturePrint(vector: vector, model: identity), object: object))
            }
            return prints
        }
    }

    /// Corners in pixels of the input as fractions of it.
    private func quadrilateral(_ corners: UnsafeBufferPointer<Float>) -> Quadrilateral {
        let input = images.graph.input
        func point(_ index: Int) -> Quadrilateral.Point {
            .init(
                x: Double(corners[2 * index]) / Double(input.width),
                y: Double(corners[2 * index + 1]) / Double(input.height))
        }
        return Quadrilateral(topLeft: point(0), topRight: point(1), bottomRight: point(2), bottomLeft: point(3))
    }
}

/// The result of work that is never cancelled, and so throws no `CancellationError`.
func uncancelled<Result>(_ body: () throws -> Result) throws(ModelError) -> Result {
    do {
        return try body()
    } catch let error as ModelError {
        throw error
    } catch {
        preconditionFailure("what is never cancelled throws no \(error)")
    }
}

/// An image to embed, or a quadrilateral of one that is rectified first.
public struct ImageCrop: Sendable {
    /// The image.
    public let image: PixelBuffer
    /// Nil for the whole image.
    public let quadrilateral: Quadrilateral?

    /// A crop of an image.
    ///
    /// - Parameter quadrilateral: the part to rectify, as fractions of the sides; nil for the whole image.
    public init(_ image: PixelBuffer, quadrilateral: Quadrilateral? = nil) {
        (self.image, self.quadrilateral) = (image, quadrilateral)
    }
}

/// The output of a network for one crop: its print, and where it localizes the object.
public struct CropPrint: Sendable {
    /// The print of the crop.
    public let print: FeaturePrint
    /// The corners of the object that the picture is about, in coordinates of the image that the crop is of.
    ///
    /// Nil for a model without localization (``FeaturePrintModel/localizesObjects``), and where it was not asked for.
    /// An image that shows no such object gets corners too.
    public let object: Quadrilateral?

    /// A print and, if the model localizes objects, the corners of the object.
    public init(print: FeaturePrint, object: Quadrilateral?) { (self.print, self.object) = (print, object) }
}
