import Crypto
import Foundation
import Kernels
import Parallelism
import PixelBuffers
import Resizing
import Synchronization

/// A network with its weights, ready to turn images into feature prints.
///
/// Loaded from one safetensors file that holds both the weights and, in its metadata, the layer
/// graph (``NetworkGraph``). A model never changes; it may be shared between tasks and threads.
public final class FeaturePrintModel: Sendable {
    /// The numbers that a network is computed in.
    public enum Precision: String, Sendable, CaseIterable {
        /// 32-bit floats.
        case float32
        /// Bytes between convolutions, whose sums are 32-bit integers; what goes in and what comes out is in
        /// floats. Prints differ a little from those in floats (the model's card says by how much) and are
        /// compared with them as if they did not. The same, to the bit, on every CPU but for the first layer
        /// and the pooling. For files that tell the ranges of their activations.
        case int8
    }

    public let identity: ModelIdentity
    /// What this model computes in.
    public let precision: Precision
    /// Up to this distance a match is taken to show what a query shows, where the file says so: of a query that
    /// resembles things in general as much as most do.
    public let recommendedMaxDistance: Double?
    /// The bytes of the file, so that a catalog can keep a copy.
    public let fileData: Data

    private let background: BackgroundPrints?
    let network: Network
    private let kernels: KernelTier
    private let resizer: Resizer
    private let rectifier: Rectifier
    private let layout: FloatImageLayout
    private let workspaces = Mutex<[Workspace]>([])

    static let distanceKey = "lookalike.recommended_max_distance"
    /// Images that a thread takes through the network together, so that weights are read once for
    /// all of them; more gain little and take memory.
    private static let batchSize = 8

    /// Reads a model file.
    ///
    /// - Parameter precision: by default the faster one of those that the file and the CPU allow.
    /// - Throws: ``ModelError`` that says what is wrong with the file.
    public convenience init(contentsOf url: URL, precision: Precision? = nil, tier: KernelTier = .selected) throws(ModelError) {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw ModelError(source: url.path, reason: .unreadable((error as NSError).localizedDescription))
        }
        try self.init(data, named: url.path, precision: precision, tier: tier)
    }

    /// Reads a model from the bytes of its file; `source` stands for it in errors.
    public init(_ data: Data, named source: String, precision: Precision? = nil, tier: KernelTier = .selected) throws(ModelError) {
        do throws(ModelError.Reason) {
            let file = try SafeTensorsFile(data)
            let (graph, text) = try Self.graph(of: file)
            let quantization = try Quantization(of: file, graph: graph)
            if precision == .int8, quantization == nil { throw ModelError.Reason.noActivationRanges }
            self.precision = precision ?? (quantization != nil && tier.isFastWithBytes ? .int8 : .float32)
            network = try Network(graph: graph, file: file, quantization: self.precision == .int8 ? quantization : nil)
            recommendedMaxDistance = try Self.distance(of: file)
            background = try BackgroundPrints(of: file, printLength: network.outputLength, tier: tier)
            var hash = SHA256()
            hash.update(data: Data(text.utf8))
            // Advice is no part of the identity: a catalog stays valid when it changes.
            let advice = background.flatMap { file.range(of: $0.tensor) } ?? data.endIndex..<data.endIndex
            hash.update(data: data[file.base..<advice.lowerBound])
            hash.update(data: data[advice.upperBound...])
            identity = ModelIdentity(name: graph.name, digest: hash.finalize().map { String(format: "%02x", $0) }.joined())
        } catch {
            throw ModelError(source: source, reason: error)
        }
        fileData = data
        kernels = tier
        let input = network.graph.input
        resizer = Resizer(width: input.width, height: input.height, tier: tier)
        rectifier = Rectifier(width: input.width, height: input.height, tier: tier)
        let place = network.inputLayout
        layout = FloatImageLayout(
            offset: place.origin, rowStride: place.rowStride, pixelStride: place.pixelStride,
            multiply: (1 / input.std[0], 1 / input.std[1], 1 / input.std[2]),
            add: (-input.mean[0] / input.std[0], -input.mean[1] / input.std[1], -input.mean[2] / input.std[2]))
    }

    private static func graph(of file: SafeTensorsFile) throws(ModelError.Reason) -> (NetworkGraph, String) {
        guard let text = file.metadata[NetworkGraph.metadataKey] else {
            throw .unusableGraph("the file's metadata has no “\(NetworkGraph.metadataKey)”")
        }
        struct Versioned: Decodable { let version: Int }
        do {
            let version = try JSONDecoder().decode(Versioned.self, from: Data(text.utf8)).version
            guard version == NetworkGraph.version else { throw ModelError.Reason.unknownVersion(version) }
            return (try JSONDecoder().decode(NetworkGraph.self, from: Data(text.utf8)), text)
        } catch let reason as ModelError.Reason {
            throw reason
        } catch {
            throw .unusableGraph(describe(error))
        }
    }

    private static func distance(of file: SafeTensorsFile) throws(ModelError.Reason) -> Double? {
        guard let text = file.metadata[distanceKey] else { return nil }
        guard let distance = Double(text), distance.isFinite, distance >= 0 else {
            throw .malformed("its “\(distanceKey)” is “\(text)”, not a distance")
        }
        return distance
    }

    /// Up to this distance a match is taken to show what a query shows that these are the prints of, one for each look at it.
    ///
    /// ``recommendedMaxDistance`` for a file without background prints. With them, less for a query that resembles
    /// many things, and more for one that resembles none; 0...2. A match's distance is the least of those to the prints.
    ///
    /// Of no prints it is ``recommendedMaxDistance`` too.
    ///
    /// - Precondition: the prints were made with this model.
    /// - Complexity: O(prints · background prints · print length): for four prints and the shipped 2,048, a tenth of a millisecond.
    public func recommendedMaxDistance(forQuery prints: [FeaturePrint]) -> Double? {
        precondition(prints.allSatisfy { $0.model == identity }, "the prints are of this model")
        guard let recommendedMaxDistance, let background, !prints.isEmpty else { return recommendedMaxDistance }
        return min(max(recommendedMaxDistance + background.offset(forQuery: prints.map(\.vector)), 0), 2)
    }

    /// How many prints of images that are in nobody's catalog tell how near a match has to be.
    public var backgroundPrintCount: Int { background?.count ?? 0 }

    /// Components of a print.
    public var printLength: Int { network.outputLength }

    /// The size that images are resized to.
    public var inputSize: (width: Int, height: Int) { (network.graph.input.width, network.graph.input.height) }

    /// Decoding that keeps what this model needs of a large JPEG file, and no more.
    public var decodingOptions: DecodingOptions { DecodingOptions(neededSize: inputSize) }

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
    public func canLook(at part: Quadrilateral) -> Bool { rectifier.canRectify(part) }

    private func prints(
        of regions: ArraySlice<ImageRegion>, threads: Int, timings: StageTimings?
    ) throws(ModelError) -> [RegionPrint] {
        let workspace = borrowWorkspace(batch: regions.count, threads: threads)
        defer { workspaces.withLock { $0.append(workspace) } }
        measured(timings, .resize, count: regions.count) {
            for (index, region) in regions.enumerated() {
                let input = network.input(index, in: workspace)
                if let part = region.part {
                    rectifier.rectify(part, of: region.image, into: input, layout: layout)
                } else {
                    resizer.resize(region.image, into: input, layout: layout)
                }
            }
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

    /// Corners in pixels of the input as fractions of it.
    private func quadrilateral(_ corners: UnsafeBufferPointer<Float>) -> Quadrilateral {
        let input = network.graph.input
        func point(_ index: Int) -> Quadrilateral.Point {
            .init(x: Double(corners[2 * index]) / Double(input.width), y: Double(corners[2 * index + 1]) / Double(input.height))
        }
        return Quadrilateral(topLeft: point(0), topRight: point(1), bottomRight: point(2), bottomLeft: point(3))
    }

    private func borrowWorkspace(batch: Int, threads: Int) -> Workspace {
        let kept = workspaces.withLock { kept in
            kept.firstIndex { $0.batchCapacity == batch && $0.threads == threads }.map { kept.remove(at: $0) }
        }
        return kept ?? network.makeWorkspace(batchCapacity: batch, threads: threads)
    }
}
