import Digests
import Foundation
import Inference

/// A model file, read and checked: its graph, its quantization, its identity, and what it says about matches.
struct ModelFile {
    static let matchThresholdKey = "lookalike.recommended_max_distance"
    static let versionKey = "lookalike.version"
    static let localFeaturesKey = "lookalike.local_features"

    let tensors: SafeTensorsFile
    let graph: NetworkGraph
    /// Nil if the file has no activation ranges.
    let quantization: Quantization?
    /// Nil if the file has no threshold.
    let matchThreshold: Double?
    /// Nil if the file has no coefficients.
    let confidence: ConfidenceCoefficients?
    let usesLocalFeatures: Bool
    private let graphText: String

    init(_ tensors: SafeTensorsFile) throws(ModelError.Reason) {
        self.tensors = tensors
        (graph, graphText) = try Self.graph(of: tensors)
        quantization = try Quantization(of: tensors, graph: graph)
        matchThreshold = try Self.distance(of: tensors)
        confidence = try ConfidenceCoefficients(of: tensors)
        usesLocalFeatures = try Self.usesLocalFeatures(tensors)
    }

    /// The digest covers the graph and the tensors, except the one that score normalization reads and those of texts: a
    /// catalog stays valid when thresholds change.
    func identity(excluding tensor: String?) -> ModelIdentity {
        let data = tensors.data
        let names = tensors.names.filter { $0 == tensor || $0.hasPrefix(TextGraph.tensorPrefix) }
        var hash = SHA256()
        hash.update(Data(graphText.utf8))
        var end = tensors.base
        for range in names.compactMap({ tensors.range(of: $0) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            hash.update(data[end..<range.lowerBound])
            end = range.upperBound
        }
        hash.update(data[end...])
        return ModelIdentity(name: graph.name, digest: hash.finalize().hexadecimal)
    }

    private static func graph(of file: SafeTensorsFile) throws(ModelError.Reason) -> (NetworkGraph, String) {
        guard let text = file.metadata[NetworkGraph.metadataKey] else {
            throw .unusableGraph("the file's metadata has no “\(NetworkGraph.metadataKey)”")
        }
        do {
            return (try JSONDecoder().decode(NetworkGraph.self, from: Data(text.utf8)), text)
        } catch let reason as ModelError.Reason {
            throw reason
        } catch {
            throw .unusableGraph(describe(error))
        }
    }

    private static func usesLocalFeatures(_ file: SafeTensorsFile) throws(ModelError.Reason) -> Bool {
        switch file.metadata[localFeaturesKey] {
        case nil, "default": return true
        case "none": return false
        case let other?: throw .malformed("its “\(localFeaturesKey)” is “\(other)”, not “default” or “none”")
        }
    }

    private static func distance(of file: SafeTensorsFile) throws(ModelError.Reason) -> Double? {
        guard let text = file.metadata[matchThresholdKey] else { return nil }
        guard let distance = Double(text), (0...2).contains(distance) else {
            throw .malformed("its “\(matchThresholdKey)” is “\(text)”, not a distance in 0…2")
        }
        return distance
    }
}
