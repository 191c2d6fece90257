#if ONNXImport
import CZlib
public import Foundation
public import Inference
public import Lookalike
import Tokenizers

/// The tower of a model that reads texts: a network from an ONNX file, with its tokenizer.
public struct ImportedTexts: Sendable {
    /// The layers.
    public let graph: TextGraph
    /// How the cosine of an image and a text becomes a probability; nil if nobody says.
    public var logits: TextLogits?
    /// What the files do not say for certain and how it was taken, a sentence each.
    public let assumptions: [String]
    /// A `tokenizer.json`.
    let tokenizer: Data
    let weights: [String: GraphBuilder.Weight]

    /// The outputs that are taken if there are several.
    private static let usualOutputs = ["text_embeds", "text_features", "sentence_embedding", "pooler_output"]
    private static let largestTokenizer = 256 << 20

    /// Reads an ONNX file with the files that hold its weights, and a tokenizer with the files beside it that say what
    /// it does not.
    ///
    /// - Parameters:
    ///   - url: the network. Its inputs are the numbers of one text, a mask, and what is the same for all texts.
    ///   - tokenizer: a `tokenizer.json`, a `vocab.json` with `merges.txt` beside it, a `vocab.txt`,
    ///     `bpe_simple_vocab_16e6.txt.gz`, a unigram model of SentencePiece, or a folder that has one of them.
    ///   - tensor: the output that is compared with prints of images; nil for the only one, or one of a usual name.
    ///   - length: how many numbers a text has, for a network that takes any; nil for what the tokenizer's files say.
    /// - Throws: `ImportError` that says what is wrong with which file.
    /// - Complexity: O(weights) time and memory.
    public init(
        contentsOf url: URL, tokenizer: URL, tensor: String? = nil, length: Int? = nil
    ) throws(ImportError) {
        let (data, reader, file) = try Self.tokenizer(at: tokenizer)
        guard let padding = reader.padding else {
            throw ImportError(
                subject: file.path,
                reason: .graph("it does not say what fills up a text; a tokenizer_config.json with “pad_token” does"))
        }
        let contents = try ImportedNetwork.contents(of: url)
        do {
            let model = try ImportedNetwork.model(contents)
            let names = model.graph.output.map(\.name)
            let usual = names.count > 1 ? Self.usualOutputs.first(where: names.contains) : nil
            let chosen = tensor ?? usual
            let (importer, graph, count) = try ImportedNetwork.run(
                model, outputs: chosen.map { [$0] }, ExternalData(folder: url.deletingLastPathComponent())
            ) { importer, graph in try importer.addText(graph, length: length ?? reader.length) }
            if let length, length != count {
                throw ImportError.Reason.graph("it takes texts of \(count) numbers, not of \(length)")
            }
            let (output, result) = try importer.output(
                of: graph, chosen, what: "the text", option: "--text-tensor")
            let last = importer.addPrint(result, normalized: true)
            var simplifier = GraphSimplifier(importer.builder, output: last)
            let (nodes, weights) = simplifier.simplified()
            self.weights = weights
            self.graph = TextGraph(
                length: count, padding: padding,
                nodes: nodes.map {
                    $0.input == "image" ? NetworkGraph.Node(name: $0.name, input: "text", operation: $0.operation) : $0
                })
            self.tokenizer = data
            assumptions = [
                "texts: \(reader.kind) of \(reader.count) pieces, \(count) to a text, filled up with \(padding); "
                    + "output “\(output)”"
            ]
        } catch let reason as ImportError.Reason {
            throw ImportError(subject: url.path, reason: reason)
        } catch {
            throw ImportError(subject: url.path, reason: .malformed("\(error)"))
        }
    }

    // MARK: The tokenizer

    /// The numbers that a tokenizer makes of texts, for checks against other programs.
    ///
    /// - Parameter tokenizer: see ``init(contentsOf:tokenizer:tensor:length:)``.
    /// - Throws: `ImportError` that says what is wrong with which file.
    /// - Complexity: O(n log n) in the length of a text.
    public static func numbers(of texts: [String], tokenizer: URL) throws(ImportError) -> [[Int32]] {
        let reader = try Self.tokenizer(at: tokenizer).reader
        return texts.map { reader.ids(of: $0) }
    }

    private static func tokenizer(at url: URL) throws(ImportError) -> (data: Data, reader: Tokenizer, file: URL) {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        guard manager.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw ImportError(subject: url.path, reason: .unreadable("it does not exist"))
        }
        let names = TokenizerFiles.names
        let files = isFolder.boolValue ? names.map { url.appendingPathComponent($0) } : [url]
        guard let file = files.first(where: { manager.fileExists(atPath: $0.path) }) else {
            throw ImportError(
                subject: url.path, reason: .graph("it has no tokenizer: none of \(names.joined(separator: ", "))"))
        }
        do {
            var data = try Data(contentsOf: file)
            if data.starts(with: [0x1f, 0x8b]) { data = try decompressed(file) }
            let folder = file.deletingLastPathComponent()
            let json = try TokenizerFiles(file.lastPathComponent, data) {
                try? Data(contentsOf: folder.appendingPathComponent($0))
            }.data
            return (json, try Tokenizer(json), file)
        } catch let error as ImportError {
            throw error
        } catch let error as TokenizerError {
            throw ImportError(subject: file.path, reason: .graph("\(error)"))
        } catch {
            throw ImportError(subject: file.path, reason: .unreadable((error as NSError).localizedDescription))
        }
    }

    private static func decompressed(_ file: URL) throws(ImportError) -> Data {
        guard let stream = gzopen(file.path, "rb") else {
            throw ImportError(subject: file.path, reason: .unreadable("it cannot be opened"))
        }
        defer { gzclose(stream) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = gzread(stream, &buffer, UInt32(buffer.count))
            guard count >= 0, data.count < largestTokenizer else {
                throw ImportError(subject: file.path, reason: .unreadable("its compression is damaged"))
            }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer[..<Int(count)])
        }
    }
}
#endif
