import Compute
import Foundation
public import Inference
import Synchronization
import Tokenizers

extension FeaturePrintModel {
    /// Whether the model reads texts too, so that words find images: see ``featurePrint(describedBy:threads:)``.
    public var readsTexts: Bool { texts.isThere }

    /// Embeds a text, such as “a red lamp on a beach”. Its print is close to those of images that it describes.
    ///
    /// Distances between texts and images are larger than those between images: a match threshold says nothing about
    /// them. ``probability(ofDistance:)`` does for some models.
    ///
    /// The first call reads the network for texts and its tokenizer, which takes about as long as reading the model.
    /// - Parameter threads: by default the threads that have nothing else to do (`ComputeExecutor`).
    /// - Throws: `ModelError` for a model that reads no texts, or whose network for texts cannot be run.
    /// - Complexity: O(n log n) in the length of the text, and a forward pass. What is longer than the network takes is
    ///   cut.
    public func featurePrint(describedBy words: String, threads: Int? = nil) throws(ModelError) -> FeaturePrint {
        let tower = try texts.tower(of: self)
        let vector = tower.vector(of: words, threads: threadCount(threads ?? availableThreadCount))
        guard vector.allSatisfy(\.isFinite), vector.contains(where: { $0 != 0 }) else {
            throw ModelError(subject: identity.name, reason: .noDirection)
        }
        let norm = Self.norm(of: vector)
        guard abs(norm - 1) <= Self.normTolerance else {
            throw ModelError(subject: identity.name, reason: .notNormalized(norm: norm))
        }
        return FeaturePrint(vector: vector, model: identity)
    }

    /// How the file turns the cosine of an image and a text into a probability; nil if it does not say.
    public var textLogits: TextLogits? { texts.logits }

    /// The probability that an image shows what a text says, for a model that was trained to tell pairs from others one
    /// by one, as SigLIP is; nil for others.
    ///
    /// - Parameter distance: that between the image's print and the text's.
    public func probability(ofDistance distance: Double) -> Double? {
        textLogits?.probability(ofDistance: distance)
    }

    /// How a model of texts ranks texts for an image: a share for each, which add up to 1; or each text's own
    /// probability, as ``probability(ofDistance:)`` gives it. Nil for a file that does not say.
    ///
    /// - Parameter distances: those between the image's print and each text's.
    public func probabilities(ofDistances distances: [Double]) -> [Double]? {
        guard let logits = textLogits else { return nil }
        if logits.bias != nil { return distances.compactMap { probability(ofDistance: $0) } }
        let values = distances.map { logits.scale * TextLogits.cosine(ofDistance: $0) }
        let weights = values.map { exp($0 - (values.max() ?? 0)) }
        let sum = weights.reduce(0, +)
        return weights.map { $0 / sum }
    }

    /// The print between a text's and an image's: images that are near it resemble the image and are as the words say.
    ///
    /// - Parameter weight: that of the words, 0...1; the image has the rest.
    /// - Throws: ``FeaturePrintError`` for prints of another model; `ModelError` for prints that cancel each other out.
    public func featurePrint(
        between words: FeaturePrint, and image: FeaturePrint, weight: Double
    ) throws -> FeaturePrint {
        require((0...1).contains(weight), "a weight of \(weight)")
        for print in [words, image] { try check(print) }
        let sum = zip(words.vector, image.vector).map { weight * Double($0) + (1 - weight) * Double($1) }
        let norm = sum.reduce(0) { $0 + $1 * $1 }.squareRoot()
        guard norm > 1e-3 else { throw ModelError(subject: identity.name, reason: .noDirection) }
        return FeaturePrint(vector: sum.map { Float($0 / norm) }, model: identity)
    }
}

/// How the cosine of an image and a text becomes a logit: times a scale, plus a bias.
public struct TextLogits: Sendable, Hashable, Codable {
    /// What the cosine is multiplied by.
    public var scale: Double
    /// What is added; nil for a model that compares several texts, as CLIP does.
    public var bias: Double?

    /// The key in a model file's metadata, JSON.
    public static let metadataKey = "lookalike.text_logits"

    /// A scale with a bias, if there is one.
    public init(scale: Double, bias: Double? = nil) { (self.scale, self.bias) = (scale, bias) }

    /// The probability of a pair at a distance of its prints; nil without a bias.
    package func probability(ofDistance distance: Double) -> Double? {
        bias.map { 1 / (1 + exp(-(scale * Self.cosine(ofDistance: distance) + $0))) }
    }

    /// The distance at which a pair is as likely as not, 0...2; nil without a bias.
    package var distanceOfEvenOdds: Double? {
        bias.map { max(0, min(2 + 2 * $0 / scale, 4)).squareRoot() }
    }

    static func cosine(ofDistance distance: Double) -> Double { 1 - distance * distance / 2 }
}

/// The part of a model that reads texts: a tokenizer and a network.
final class TextTower: Sendable {
    private let graph: TextGraph
    private let tokenizer: Tokenizer
    private let network: Network
    private let kernels: SIMDTarget
    private let workspaces = WorkspacePool()

    /// - Parameters:
    ///   - dimension: that of the prints of images.
    ///   - precision: that of the network of images.
    init(
        of file: SafeTensorsFile, dimension: Int, precision: FeaturePrintModel.Precision, simd: SIMDTarget
    ) throws(ModelError.Reason) {
        guard let graph = try file.decoded(TextGraph.self, from: TextGraph.metadataKey) else {
            throw .readsNoTexts
        }
        let name = TextGraph.tokenizerTensor
        let bytes = try file.bytes(name, shape: file.shape(of: name) ?? [])
        do {
            tokenizer = try Tokenizer(Data(bytes))
        } catch {
            throw .unusableTensor(name: name, "\(error)")
        }
        guard (0..<tokenizer.count).contains(graph.padding) else {
            throw .unusableGraph("its texts are filled up with \(graph.padding), which is no piece of its tokenizer")
        }
        network = try Network(graph: graph, file: file, quantizes: precision == .int8)
        guard network.outputDimension == dimension else {
            throw .unusableGraph(
                "its prints of texts have \(network.outputDimension) dimensions, and those of images \(dimension)")
        }
        (self.graph, kernels) = (graph, simd)
    }

    func vector(of text: String, threads: Int) -> [Float] {
        let ids = tokenizer.ids(of: text, length: graph.length)
        return workspaces.withWorkspace(for: network, batch: 1, threads: threads) { workspace in
            let input = network.input(0, in: workspace)
            for place in 0..<graph.length {
                input[place] = Float(place < ids.count ? Int(ids[place]) : graph.padding)
                input[graph.length + place] = place < ids.count ? 1 : 0
            }
            network.run(workspace, batch: 1, threads: threads, results: .output, kernels: kernels)
            return Array(network.output(0, in: workspace))
        }
    }

    /// A tower that is read when the first text is.
    final class Source: Sendable {
        let isThere: Bool
        let logits: TextLogits?
        private let simd: SIMDTarget
        private let state = Mutex<Result<TextTower, ModelError>?>(nil)

        init(of file: SafeTensorsFile, simd: SIMDTarget) throws(ModelError.Reason) {
            isThere = file.metadata[TextGraph.metadataKey] != nil
            logits = try file.decoded(TextLogits.self, from: TextLogits.metadataKey)
            self.simd = simd
        }

        func tower(of model: FeaturePrintModel) throws(ModelError) -> TextTower {
            let result = state.withLock { state in
                if let state { return state }
                let made = Result { () throws(ModelError) in
                    do throws(ModelError.Reason) {
                        return try TextTower(
                            of: SafeTensorsFile(model.fileData), dimension: model.dimension,
                            precision: model.precision, simd: simd)
                    } catch {
                        throw ModelError(subject: model.identity.name, reason: error)
                    }
                }
                state = made
                return made
            }
            return try result.get()
        }
    }
}
