import Compute
import Imaging
import Inference

extension FeaturePrintModel {
    /// Images that a thread takes through the network together, so that weights are read once for
    /// all of them; more gain little and take memory.
    private static let batchSize = 8

    /// The print of one image, of any size; the image is stretched to the network's input.
    ///
    /// All cores take part unless `threads` says otherwise.
    /// - Throws: ``ModelError`` when the network's output has no direction.
    public func featurePrint(
        for image: PixelBuffer, threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> FeaturePrint {
        try featurePrints(for: [image], threads: threads, timings: timings)[0]
    }

    /// The prints of many images, in their order.
    ///
    /// Results do not depend on `threads` or on what else is in the array.
    public func featurePrints(
        for images: [PixelBuffer], threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> [FeaturePrint] {
        try look(at: images.map { ImageRegion($0) }, threads: threads, timings: timings).map(\.print)
    }

    /// The prints of many images or parts of them, in their order, with where the model takes the
    /// thing to be in each.
    ///
    /// Results do not depend on `threads` or on what else is in the array.
    /// - Precondition: regions are ``canLook(at:)``.
    public func look(
        at regions: [ImageRegion], threads: Int? = nil, timings: StageTimings? = nil
    ) throws(ModelError) -> [RegionPrint] {
        let threads = max(1, threads ?? availableProcessorCount)
        // Few images: all threads work on one batch. Many: each thread has batches of its own.
        let size = regions.count < 2 * threads ? max(regions.count, 1) : Self.batchSize
        let batches = stride(from: 0, to: regions.count, by: size).map { $0..<min($0 + size, regions.count) }
        let threadsOfEach = batches.count > 1 ? 1 : threads
        let results = concurrentMap(batches.count, threads: threads) { index in
            Result { () throws(ModelError) in
                try prints(of: regions[batches[index]], threads: threadsOfEach, timings: timings)
            }
        }
        var all: [RegionPrint] = []
        for result in results { all += try result.get() }
        return all
    }

    /// Whether the model tells where in an image the thing is.
    public var findsObjects: Bool { network.findsCorners }

    /// Whether a part of an image can be looked at: see ``Rectifier/canRectify(_:)``.
    public func canLook(at part: Quadrilateral) -> Bool { input.rectifier.canRectify(part) }

    private func prints(
        of regions: ArraySlice<ImageRegion>, threads: Int, timings: StageTimings?
    ) throws(ModelError) -> [RegionPrint] {
        try workspaces.withWorkspace(for: network, batch: regions.count, threads: threads) { workspace throws(ModelError) in
            measured(timings, .resize, count: regions.count) {
                for (index, region) in regions.enumerated() { input.write(region, into: network.input(index, in: workspace)) }
            }
            measured(timings, .network, count: regions.count) {
                network.run(workspace, batch: regions.count, threads: threads, kernels: kernels)
            }
            var prints: [RegionPrint] = []
            for (index, region) in regions.enumerated() {
                let vector = Array(network.output(index, in: workspace))
                guard vector.allSatisfy(\.isFinite), vector.contains(where: { $0 != 0 }) else {
                    throw ModelError(source: identity.name, reason: .noDirection)
                }
                var object = network.corners(index, in: workspace).map { quadrilateral($0) }
                if let part = region.part { object = object.flatMap { part.projecting($0) } }
                prints.append(RegionPrint(print: FeaturePrint(vector: vector, model: identity), object: object))
            }
            return prints
        }
    }

    /// Corners in pixels of the input as fractions of it.
    private func quadrilateral(_ corners: UnsafeBufferPointer<Float>) -> Quadrilateral {
        let input = network.graph.input
        func point(_ index: Int) -> Quadrilateral.Point {
            .init(x: Double(corners[2 * index]) / Double(input.width), y: Double(corners[2 * index + 1]) / Double(input.height))
        }
        return Quadrilateral(topLeft: point(0), topRight: point(1), bottomRight: point(2), bottomLeft: point(3))
    }
}
