#if ONNXImport
public import Foundation
public import Inference
public import Lookalike
import SwiftProtobuf

/// A network from an ONNX file, as a graph of this package with its weights.
///
/// ONNX: https://onnx.ai/onnx/repo-docs/IR.html and https://onnx.ai/onnx/operators. Opsets 11 to 22 are read.
public struct ImportedNetwork: Sendable {
    /// The layers.
    public let graph: NetworkGraph
    /// What the file does not say for certain and how it was taken, a sentence each: the input with its layout and its
    /// normalization, the output, and how images are resized.
    public let assumptions: [String]
    /// The network of the same model that reads texts; nil for a model of images alone.
    public var texts: ImportedTexts?
    /// The numbers of the layers, by the names that the graph gives them.
    private let weights: [String: GraphBuilder.Weight]
    /// The ranges of a quantized network's tensors that layers can read in int8.
    private let ownRanges: [String: ActivationRange]

    /// The largest file that is read, in bytes; protocol buffers have the same limit.
    private static let largestFile = 2 << 30
    private static let opsets = 11...22

    /// Reads an ONNX file, the files beside it that hold its weights, and `preprocessor_config.json` or
    /// `open_clip_config.json` if there is one.
    ///
    /// - Throws: `ImportError` that says what is wrong with the file, or names the node that cannot be imported, its
    ///   operator, and what is missing.
    /// - Complexity: O(weights) time and memory.
    public init(contentsOf url: URL, options: ImportOptions) throws(ImportError) {
        let data = try Self.contents(of: url)
        let preprocessing = try Preprocessing.beside(url, options)
        try self.init(data, ExternalData(folder: url.deletingLastPathComponent()), preprocessing, url.path, options)
    }

    /// Reads the bytes of an ONNX file that holds all of its weights.
    ///
    /// - Parameter source: what errors call the file.
    /// - Throws: `ImportError` that says what is wrong with the file, or names the node that cannot be imported, its
    ///   operator, and what is missing.
    public init(_ data: Data, named source: String, options: ImportOptions) throws(ImportError) {
        try self.init(data, ExternalData(folder: nil), nil, source, options)
    }

    /// The bytes of an ONNX file.
    static func contents(of url: URL) throws(ImportError) -> Data {
        do {
            let size = try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size < largestFile else {
                throw ImportError(
                    subject: url.path, reason: .malformed("it has \(size) bytes, more than the limit of 2 GB"))
            }
            return try Data(contentsOf: url, options: .mappedIfSafe)
        } catch let error as ImportError {
            throw error
        } catch {
            throw ImportError(subject: url.path, reason: .unreadable((error as NSError).localizedDescription))
        }
    }

    private init(
        _ data: Data, _ external: ExternalData, _ preprocessing: Preprocessing?, _ source: String,
        _ options: ImportOptions
    ) throws(ImportError) {
        do {
            try self.init(Self.model(data), external, preprocessing, options)
        } catch let reason as ImportError.Reason {
            throw ImportError(subject: source, reason: reason)
        } catch {
            throw ImportError(subject: source, reason: .malformed("\(error)"))
        }
    }

    static func model(_ data: Data) throws -> ONNXModel {
        var decoding = BinaryDecodingOptions()
        // Descriptions and what later versions add.
        decoding.discardUnknownFields = true
        do {
            return try ONNXModel(serializedBytes: data, options: decoding)
        } catch {
            throw ImportError.Reason.malformed("it is not a valid protocol buffer")
        }
    }

    private init(
        _ model: ONNXModel, _ external: ExternalData, _ preprocessing: Preprocessing?, _ options: ImportOptions
    ) throws {
        let (importer, graph, size) = try Self.run(
            model, outputs: options.tensor.map { [$0] }, external, variables: options.variables
        ) { importer, graph in
            try importer.addImage(graph, inputSize: options.inputSize, or: preprocessing?.inputSize)
        }
        let (output, result) = try importer.output(of: graph, options.tensor)
        let normalization = try InputNormalization(of: graph, in: importer, options, preprocessing)
        let resizing = InputResizing(to: size, options, preprocessing)
        let last = importer.addPrint(result, normalized: options.normalizesPrint)
        self.init(
            importer.builder, output: last, name: options.name,
            input: .init(
                width: size.width, height: size.height, mean: normalization.mean, std: normalization.std,
                shortestSide: resizing.shortestSide, filter: resizing.filter),
            assumptions: [
                normalization.sentence, importer.sentence(ofOutput: output, in: graph), resizing.sentence,
            ])
    }

    /// Turns the nodes that some outputs need, nil for all outputs, into layers.
    ///
    /// - Parameter addInputs: adds the inputs, after the constants that the file stores.
    static func run<Input>(
        _ model: ONNXModel, outputs: [String]?, _ external: ExternalData, variables: Set<String> = [],
        addInputs: (GraphImporter, ONNXGraph) throws -> Input
    ) throws -> (importer: GraphImporter, graph: ONNXGraph, input: Input) {
        let opset = model.opsetImport.first { $0.domain.isEmpty || $0.domain == "ai.onnx" }?.version ?? 0
        guard let opset = Int(exactly: opset), Self.opsets.contains(opset) else {
            throw ImportError.Reason.graph(
                "it uses opset \(opset); \(Self.opsets.lowerBound) to \(Self.opsets.upperBound) are supported")
        }
        // A network of two towers has inputs that one of them does not need.
        var graph = model.graph
        try graph.keep(outputs: outputs ?? graph.output.map(\.name))
        let importer = GraphImporter(opset: opset, external: external)
        var scalars: [String: Float] = [:]
        for initializer in graph.initializer {
            let constant = try importer.store(initializer)
            if let scalar = constant.scalar { scalars[initializer.name] = scalar }
            if variables.contains(initializer.name) {
                importer.values[initializer.name] = .tensor(
                    importer.tensor(.constant(constant), name: initializer.name))
            }
        }
        let input = try addInputs(importer, graph)
        for node in graph.node where node.opType == "Constant" {
            guard let output = node.output.first, let tensor = node.tensor("value") else { continue }
            if let scalar = try ConstantTensor(tensor, external).scalar { scalars[output] = scalar }
        }
        for node in OperatorPatterns(graph.node, scalars: scalars).simplified() { try importer.run(node) }
        return (importer, graph, input)
    }

    /// The layers that an output needs.
    init(
        _ builder: GraphBuilder, output: String, name: String, input: NetworkGraph.Input, assumptions: [String] = []
    ) {
        var simplifier = GraphSimplifier(builder, output: output)
        let (nodes, weights) = simplifier.simplified()
        graph = NetworkGraph(name: name, input: input, nodes: nodes)
        (self.assumptions, self.weights) = (assumptions, weights)
        // An array's lines would get other steps than the file's.
        let candidates = Set(Quantization.candidates(in: graph)).subtracting(Quantization.linearArrays(in: graph))
        ownRanges = nodes.reduce(into: [:]) { ranges, node in
            let convolution = node.operation as? NetworkGraph.Convolution
            guard let function = convolution?.activation ?? node.operation as? NetworkGraph.Activation,
                function.kind == .quantize, candidates.contains(node.name)
            else { return }
            let lower = function.alpha * function.beta
            ranges[node.name] = ActivationRange(lower: lower, upper: lower + 255 * function.alpha)
        }
    }

    /// How many tensors are int8 because the file has their integers.
    public var quantizedTensors: Int { ownRanges.count }

    /// What the network gives for an image, in float32 and not rounded as a print is.
    ///
    /// - Throws: `ImportError` for layers that cannot be run.
    /// - Complexity: O(weights), and a forward pass.
    public func output(for image: PixelBuffer) throws(ImportError) -> [Float] {
        let data = try modelFile()
        do {
            return try ImageNetwork(of: SafeTensorsFile(data), simd: .selected).output(for: image)
        } catch {
            throw ImportError(subject: graph.name, reason: .graph("its layers cannot be run: \(error)"))
        }
    }

    /// The bytes of a model file: safetensors with the graph in its metadata.
    ///
    /// - Parameters:
    ///   - matchThreshold: the distance up to which a match is accepted, 0…2; nil for none.
    ///   - activationRanges: what ``FeaturePrintModel/activationRanges(for:)`` measures; nil for a tensor that stays
    ///     float32. Without ranges the network is computed in float32, unless the file has those of its integers.
    ///   - confidence: the coefficients of the confidence of matches; nil for none.
    /// - Throws: `ImportError` for a graph with numbers that are not finite.
    public func modelFile(
        matchThreshold: Double? = nil, activationRanges: [String: ActivationRange?] = [:],
        confidence: ConfidenceCoefficients? = nil
    ) throws(ImportError) -> Data {
        var entries: [String: Any] = [:]
        let weights = weights.merging(texts?.weights ?? [:]) { own, _ in own }
        let names = weights.keys.sorted()
        var end = 0
        for name in names {
            guard let weight = weights[name] else { continue }
            let start = end
            end += weight.values.count * 4
            entries[name] = ["dtype": "F32", "shape": weight.shape, "data_offsets": [start, end]]
        }
        if let texts {
            let count = texts.tokenizer.count
            entries[TextGraph.tokenizerTensor] = ["dtype": "U8", "shape": [count], "data_offsets": [end, end + count]]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            var metadata = [
                NetworkGraph.metadataKey: String(decoding: try encoder.encode(graph), as: UTF8.self),
                "lookalike.version": PackageVersion.current, "lookalike.local_features": "none",
            ]
            if let matchThreshold {
                metadata["lookalike.recommended_max_distance"] = String(format: "%.4f", matchThreshold)
            }
            if let confidence {
                metadata[ConfidenceCoefficients.metadataKey] = String(
                    decoding: try encoder.encode(confidence), as: UTF8.self)
            }
            let activationRanges = activationRanges.isEmpty ? ownRanges.mapValues { Optional($0) } : activationRanges
            if !activationRanges.isEmpty {
                metadata["lookalike.activation_ranges"] = String(
                    decoding: try encoder.encode(activationRanges), as: UTF8.self)
            }
            if let texts {
                metadata[TextGraph.metadataKey] = String(decoding: try encoder.encode(texts.graph), as: UTF8.self)
                if let logits = texts.logits {
                    metadata[TextLogits.metadataKey] = String(decoding: try encoder.encode(logits), as: UTF8.self)
                }
            }
            entries["__metadata__"] = metadata
            var header = try JSONSerialization.data(
                withJSONObject: entries, options: [.sortedKeys, .withoutEscapingSlashes])
            // Tensors start at a multiple of eight bytes.
            header.append(contentsOf: Array(repeating: UInt8(ascii: " "), count: (8 - header.count % 8) % 8))
            var data = Data(capacity: 8 + header.count + end)
            withUnsafeBytes(of: UInt64(header.count).littleEndian) { data.append(contentsOf: $0) }
            data.append(header)
            for name in names {
                weights[name]?.values.withUnsafeBytes { data.append(contentsOf: $0) }
            }
            if let texts { data.append(texts.tokenizer) }
            return data
        } catch {
            throw ImportError(subject: graph.name, reason: .graph("its layers cannot be written: \(error)"))
        }
    }
}
#endif
