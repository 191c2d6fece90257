import ArgumentParser
import CommandProcess
import Foundation
import Inference
import Lookalike
import ONNXImport

@main
struct LookalikeImport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookalike-import", abstract: "Converts an ONNX network to a model file.")

    @Argument(help: "The network, an .onnx file.", completion: .file(extensions: ["onnx"]))
    var network: String

    @Option(
        help: ArgumentHelp(
            "The model file to write; by default the network's path with the extension .safetensors.", valueName: "file"
        ),
        completion: .file(extensions: ["safetensors"]))
    var output: String?

    @Option(help: ArgumentHelp("The side of the input in pixels, for a network that takes any size.", valueName: "n"))
    var inputSize: Int?

    @Option(
        help: ArgumentHelp(
            "The mean of red, green and blue in 0…1, which is subtracted; by default ImageNet's, or none for a network "
                + "that normalizes the image itself.",
            valueName: "r,g,b"))
    var mean: ChannelValues?

    @Option(
        help: ArgumentHelp(
            "The standard deviation of red, green and blue in 0…1; by default as for the mean.", valueName: "r,g,b"))
    var std: ChannelValues?

    @Option(
        help: ArgumentHelp(
            "How images become the input: “stretch”, or “shortest”, which resizes the shorter side to that of the "
                + "input and takes the center; a number resizes it to so many pixels. By default as "
                + "preprocessor_config.json or open_clip_config.json beside the network says, or stretch.",
            valueName: "stretch|shortest|n"))
    var resize: ImportOptions.Resize?

    @Option(
        help: ArgumentHelp(
            "The filter that resizes images: bilinear or bicubic; by default as for --resize, or bilinear.",
            valueName: "name"))
    var filter: NetworkGraph.Input.Filter?

    @Option(help: ArgumentHelp("The tensor that becomes the print; by default the only output.", valueName: "name"))
    var tensor: String?

    @Option(help: ArgumentHelp("What the model is called; by default the file's name.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The distance up to which a search accepts a match, 0…2; the file has no match threshold without it or "
                + "--calibrate.",
            valueName: "d"))
    var maxDistance: Double?

    @Option(
        help: ArgumentHelp(
            "A folder or manifest of images like those that will be indexed: they measure the ranges that int8 needs, "
                + "and, drawn as photographs may show them, the match threshold.",
            valueName: "folder"),
        completion: .directory)
    var calibrate: String?

    @Option(
        help: ArgumentHelp(
            "The network of the same model that reads texts, an .onnx file; it may be the same file with another "
                + "output. Words find images then.",
            valueName: "file"),
        completion: .file(extensions: ["onnx"]))
    var text: String?

    @Option(
        help: ArgumentHelp(
            "The tokenizer of texts: tokenizer.json, vocab.json beside merges.txt, vocab.txt, "
                + "bpe_simple_vocab_16e6.txt.gz, a unigram .model of SentencePiece, or a folder with one of them; by "
                + "default the folder of --text.",
            valueName: "file"))
    var tokenizer: String?

    @Option(
        help: ArgumentHelp(
            "The tensor that becomes the print of a text; by default the only output, or text_embeds.",
            valueName: "name"))
    var textTensor: String?

    @Option(
        help: ArgumentHelp(
            "How many numbers a text has, for a network that takes any; by default as the tokenizer's files say.",
            valueName: "n"))
    var textLength: Int?

    @Option(
        help: ArgumentHelp(
            "What the cosine of an image and a text is multiplied by, such as 100 for CLIP: “lookalike label” gives "
                + "probabilities then.",
            valueName: "x"))
    var logitScale: Double?

    @Option(
        help: ArgumentHelp(
            "What is added to it, such as −16.5 for SigLIP: the probability of each pair is given then.",
            valueName: "x"))
    var logitBias: Double?

    // For checks against other programs.
    @Flag(help: ArgumentHelp("Leave the print as the network gives it.", visibility: .hidden))
    var raw = false

    @Option(help: ArgumentHelp("An initializer to compute with as if it depended on the image.", visibility: .hidden))
    var variable: [String] = []

    @Option(help: ArgumentHelp("An image whose print to write as JSON, not rounded.", visibility: .hidden))
    var embed: [String] = []

    @Option(help: ArgumentHelp("A text whose print to write as JSON.", visibility: .hidden))
    var embedText: [String] = []

    @Option(help: ArgumentHelp("A JSON array of texts whose numbers to write, a line each.", visibility: .hidden))
    var tokenize: String?

    static func main() {
        CommandProcess.prepare()
        main(nil)
    }

    func run() throws {
        if let tokenize, let tokenizer {
            let texts = try JSONDecoder().decode([String].self, from: Data(contentsOf: URL(fileURLWithPath: tokenize)))
            for ids in try ImportedTexts.numbers(of: texts, tokenizer: URL(fileURLWithPath: tokenizer)) {
                print(ids.map(String.init).joined(separator: " "))
            }
            return
        }
        let source = URL(fileURLWithPath: network)
        var options = ImportOptions(
            name: name ?? source.deletingPathExtension().lastPathComponent, inputSize: inputSize,
            mean: mean?.values, std: std?.values, resize: resize, filter: filter, tensor: tensor)
        options.normalizesPrint = !raw
        options.variables = Set(variable)
        var imported = try ImportedNetwork(contentsOf: source, options: options)
        imported.texts = try text.map { try texts(URL(fileURLWithPath: $0)) }
        var data = try imported.modelFile(matchThreshold: maxDistance)
        let target =
            output.map { URL(fileURLWithPath: $0) }
            ?? source.deletingPathExtension().appendingPathExtension("safetensors")
        // Checks every layer before anything is written.
        let model = try FeaturePrintModel(data, named: target.path, precision: .float32)
        for image in embed {
            let pixels = try PixelBuffer(contentsOf: URL(fileURLWithPath: image))
            print(String(decoding: try JSONEncoder().encode(imported.output(for: pixels)), as: UTF8.self))
        }
        for words in embedText {
            let print = try model.featurePrint(describedBy: words)
            Swift.print(String(decoding: try JSONEncoder().encode(print.vector), as: UTF8.self))
        }
        guard embed.isEmpty, embedText.isEmpty else { return }
        // So that a network for texts that cannot be run is no model.
        if model.readsTexts { _ = try model.featurePrint(describedBy: "a photo") }
        var hasThreshold = maxDistance != nil
        if calibrate == nil, imported.quantizedTensors > 0 {
            // So are the int8 layers.
            _ = try FeaturePrintModel(data, named: target.path)
            print("int8: \(imported.quantizedTensors) tensors, in the ranges of the file")
        }
        if let calibrate {
            let images = try images(of: calibrate, options: model.decodingOptions)
            data = try calibrated(imported, images)
            if !hasThreshold, let threshold = try DrawnThreshold(of: model, images: images) {
                data = try threshold.fileData(
                    of: FeaturePrintModel(data, named: target.path, precision: .float32))
                hasThreshold = true
                report(threshold, count: images.count)
            }
        }
        try data.write(to: target, options: .atomic)
        let summary = model.summary
        print(
            "\(target.path): \(summary.rows.count) layers, \(summary.parameters) parameters, "
                + "\(summary.multiplyAdds / 1_000_000) million multiply-adds")
        for assumption in imported.assumptions + (imported.texts?.assumptions ?? []) { print(assumption) }
        print("images of \(model.inputSize.width)×\(model.inputSize.height), prints of \(model.dimension) dimensions")
        if !hasThreshold {
            let few =
                calibrate == nil ? "" : ": it takes \(DrawnThreshold.leastImages) images that the network tells apart"
            print("The file has no match threshold\(few); --max-distance sets one, here or at a search.")
        }
        print("The file localizes no objects and brings no local features: matches are by prints alone.")
    }

    func validate() throws {
        if let maxDistance, !(0...2).contains(maxDistance) {
            throw ValidationError("--max-distance must be between 0 and 2.")
        }
        let others: [(String, Bool)] = [
            ("--tokenizer", tokenizer != nil), ("--text-tensor", textTensor != nil),
            ("--text-length", textLength != nil), ("--logit-scale", logitScale != nil),
        ]
        if text == nil, tokenize == nil, let (name, _) = others.first(where: \.1) {
            throw ValidationError("\(name) is about a network that reads texts; --text names it.")
        }
        if logitBias != nil, logitScale == nil { throw ValidationError("--logit-bias needs --logit-scale.") }
        guard (logitScale ?? 1).isFinite, logitScale ?? 1 > 0, (logitBias ?? 0).isFinite else {
            throw ValidationError("--logit-scale must be positive, and --logit-bias a number.")
        }
        if let textLength, !(1...4096).contains(textLength) {
            throw ValidationError("--text-length must be between 1 and 4096.")
        }
    }

    /// The images of a calibration: more change little.
    private static let mostImages = 64

    private func report(_ threshold: DrawnThreshold, count: Int) {
        func percent(_ share: Double) -> String { String(format: "%.1f %%", 100 * share) }
        print(
            String(format: "match threshold %.4f", threshold.matchThreshold)
                + ", fitted to drawn views of \(count) images: it accepts \(percent(threshold.recall)) of them, and "
                + "\(percent(threshold.falseAcceptRate)) of views of what is not there. Measure it with real "
                + "photographs: “lookalike evaluate --calibrate”")
    }

    /// - Parameter options: how images are decoded; all of them are in memory at once.
    private func images(of folder: String, options: DecodingOptions) throws -> [PixelBuffer] {
        let source = try ImageSource.items(at: URL(fileURLWithPath: folder))
        for problem in source.problems { report(problem) }
        // Evenly over the folder, whose neighbors may be alike.
        let count = min(source.items.count, Self.mostImages)
        let images = (0..<count).compactMap { index -> PixelBuffer? in
            let path = source.items[index * source.items.count / count].entity.image
            do {
                return try PixelBuffer(contentsOf: URL(fileURLWithPath: path), options: options)
            } catch {
                report(error)
                return nil
            }
        }
        guard !images.isEmpty else { throw ValidationError("“\(folder)” has no image to calibrate with.") }
        return images
    }

    private func texts(_ network: URL) throws -> ImportedTexts {
        let tokenizer = tokenizer.map { URL(fileURLWithPath: $0) } ?? network.absoluteURL.deletingLastPathComponent()
        var texts = try ImportedTexts(
            contentsOf: network, tokenizer: tokenizer, tensor: textTensor, length: textLength)
        texts.logits = logitScale.map { TextLogits(scale: $0, bias: logitBias) }
        return texts
    }

    private func calibrated(_ network: ImportedNetwork, _ images: [PixelBuffer]) throws -> Data {
        let calibration = try Calibration(of: network, images: images, matchThreshold: maxDistance)
        guard let cosines = calibration.cosines else {
            let reason =
                calibration.float32Tensors.isEmpty
                ? "no layer of this network has an int8 kernel" : "int8 is not exact enough for any tensor"
            print("int8: \(reason); the network is computed in float32.")
            return calibration.modelFile
        }
        print(
            "int8: \(calibration.quantizedTensors) tensors; cosine to float32 over \(images.count) images: mean "
                + String(format: "%.4f, smallest %.4f", cosines.mean, cosines.smallest))
        if !calibration.float32Tensors.isEmpty {
            print("float32, because int8 is not exact enough: \(calibration.float32Tensors.joined(separator: ", "))")
        }
        return calibration.modelFile
    }

    private func report(_ problem: any Error) { StandardError.print("\(problem)") }
}

extension NetworkGraph.Input.Filter: @retroactive ExpressibleByArgument {}

extension ImportOptions.Resize: @retroactive ExpressibleByArgument {
    public init?(argument: String) {
        switch argument {
        case "stretch": self = .stretch
        case "shortest": self = .shortest(nil)
        default:
            guard let pixels = Int(argument), pixels > 0 else { return nil }
            self = .shortest(pixels)
        }
    }
}

/// A number for red, green and blue.
struct ChannelValues: ExpressibleByArgument {
    let values: [Float]

    init?(argument: String) {
        let values = argument.split(separator: ",").map { Float($0) }
        guard values.count == 3, values.allSatisfy({ $0?.isFinite == true }) else { return nil }
        self.values = values.compactMap(\.self)
    }
}
