import ArgumentParser
import CommandProcess
import Compute
import DefaultModel
import Foundation
import Inference
import LocalFeatures
import Lookalike

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Shows and imports models, and writes what one is trained on.",
        subcommands: [Info.self, ModelImportCommand.self, Calibrate.self, DescriptorCommand.self])

    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "info", abstract: "Prints the layers of a network and their costs.")

        @OptionGroup var precision: PrecisionOption
        @OptionGroup var timing: TimingOptions

        @Argument(
            help: "A model file; the default model without it.", completion: .file(extensions: ["safetensors"]))
        var file: FilePath?

        func run() throws { try timing.measuringAll(perform) }

        private func perform() throws {
            let model = try precision.loadModel(file)
            let summary = model.summary
            let rows =
                [("LAYER", "KIND", "OUTPUT", "PARAMETERS", "MULTIPLY-ADDS")]
                + summary.rows.map {
                    ($0.name.escaped, $0.kind.escaped, $0.output, grouped($0.parameters), grouped($0.multiplyAdds))
                }
                + [("total", "", "", grouped(summary.parameters), grouped(summary.multiplyAdds))]
            let names = rows.map(\.0.count).max() ?? 0
            let kinds = rows.map(\.1.count).max() ?? 0
            for row in rows {
                print(
                    left(row.0, names) + "  " + left(row.1, kinds) + "  " + right(row.2, 12) + right(row.3, 12)
                        + right(row.4, 15))
            }
            print("")
            print("model                 " + "\(model.identity)".escaped)
            print("digest                \(model.identity.digest)")
            print("written by            " + (model.writtenBy.map { "Lookalike \($0)".escaped } ?? "unknown"))
            print("input                 \(model.inputSize.width)×\(model.inputSize.height) RGB")
            print("images                \(resizing(to: model.input))")
            print("dimension             \(model.dimension)")
            print("SIMD target           \(SIMDTarget.selected.name)")
            print("precision             \(model.precision.rawValue)")
            print("match threshold       " + (model.matchThreshold.map { String(format: "%.4f", $0) } ?? "none"))
            print("background set        " + grouped(model.backgroundSetCount))
        }

        private func resizing(to input: NetworkGraph.Input) -> String {
            let place = input.shortestSide.map { "the center of images with a shortest side of \($0)" } ?? "stretched"
            return "\(place), \(input.filter.rawValue)"
        }

        private func grouped(_ number: Int) -> String {
            let digits = Array(String(number))
            return digits.indices.map { index in
                (index > 0 && (digits.count - index) % 3 == 0 ? " " : "") + String(digits[index])
            }.joined()
        }

        private func left(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        private func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
    }
}

extension ModelCommand {
    /// Fits the coefficients of the confidence to labeled queries.
    struct Calibrate: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "calibrate",
            abstract: "Fits a model's match threshold and confidence to labeled queries.",
            discussion: """
                OBSERVATIONS are files of “lookalike evaluate --leave-out --observations”: for each catalog one with \
                the standard effort and one with --effort prints; “lookalike evaluate --calibrate” does it in one \
                step for one catalog. Prints the figures of a cross-validation in which \
                all queries of an object are in one of five parts. Catalogs made with the model stay valid.
                """)

        @Argument(help: "A model file.", completion: .file(extensions: ["safetensors"]))
        var file: FilePath

        @Argument(help: "Files of observations, JSON lines.", completion: .file(extensions: ["jsonl"]))
        var observations: [FilePath]

        @Option(
            help: ArgumentHelp("The model file to write.", valueName: "file"),
            completion: .file(extensions: ["safetensors"]))
        var output: FilePath

        func run() throws {
            try OutputFile.check(output)
            let model = try FeaturePrintModel(contentsOf: file.url)
            var all: [MatchObservation] = []
            for file in observations {
                all += try JSONLine.values(MatchObservation.self, in: file.url, kind: "an observation of “evaluate”")
                    .map(\.value)
            }
            try Calibration(all).write(model, to: output)
        }
    }
}

/// A threshold and coefficients of the confidence, fitted to the observations of labeled queries.
struct Calibration {
    private let fit: ConfidenceFit
    private let observations: [MatchObservation]

    init(_ observations: [MatchObservation]) throws {
        guard let fit = ConfidenceFit(observations) else {
            throw ValidationError(
                "there are too few observations: right and wrong matches are needed by prints alone and, if any were "
                    + "compared, by local features and without")
        }
        (self.fit, self.observations) = (fit, observations)
    }

    /// Writes the model with the fit to a file, and prints the figures of a cross-validation.
    func write(
        _ model: FeaturePrintModel, to output: FilePath, print: (String) -> Void = { Swift.print($0) }
    ) throws {
        try OutputFile.write(try model.fileData(with: fit), to: output)
        print("match threshold " + String(format: "%.4f", fit.matchThreshold))
        guard let held = ConfidenceFit.crossValidated(observations) else {
            print("too few queries for a cross-validation")
            return
        }
        for (name, isCompared) in [("standard", true), ("prints alone", false)] {
            let chosen = observations.indices.filter { observations[$0].isCompared == isCompared }
            if !chosen.isEmpty { print(figures("\(name), cross-validated", of: chosen, held)) }
        }
        let compared = observations.indices.filter { observations[$0].isCompared }
        let kinds = Dictionary(grouping: compared, by: { observations[$0].kind })
        guard kinds.count > 1, let unseen = ConfidenceFit.leavingKindsOut(observations) else { return }
        print(figures("standard, each kind by fits to the others", of: compared, unseen))
        for (kind, chosen) in kinds.sorted(by: { $0.key < $1.key }) {
            print(figures("  \(kind)", of: chosen, unseen))
        }
    }

    /// - Parameters:
    ///   - chosen: the places of some observations.
    ///   - held: the probability of each observation by a fit that has not seen it.
    private func figures(_ name: String, of chosen: [Int], _ held: [Double]) -> String {
        var evaluation = Evaluation()
        for (_, candidates) in Dictionary(grouping: chosen, by: { observations[$0].search }) {
            let ranked = candidates.sorted { (held[$1], $0) < (held[$0], $1) }
            evaluation.add(
                Evaluation.Outcome(
                    targets: candidates.contains { observations[$0].isRight } ? ["right"] : [],
                    ranking: ranked.map { (observations[$0].isRight ? "right" : "wrong", held[$0]) },
                    acceptedCount: ranked.count { held[$0] >= MatchBounds.accepted.minConfidence },
                    candidates: []))
        }
        return "\(name): accepted and right \(share(evaluation.acceptedRight)), "
            + "false accepts \(share(evaluation.falseAcceptRate)), "
            + "calibration error \(share(evaluation.expectedCalibrationError))"
    }
}

/// Writes raw local descriptors, which the projection and the vocabulary of local features are trained on.
struct DescriptorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "descriptors",
        abstract: "Writes the raw local descriptors of images as a NumPy file.",
        discussion: """
            Float32, 128 components per descriptor, image after image. Models/training/train_local_features.py makes a \
            local-feature model of them. All descriptors are held in memory.
            """)

    @Argument(help: "Folders of images, searched recursively.", completion: .directory)
    var folders: [FilePath]

    @Option(help: ArgumentHelp("The .npy file to write.", valueName: "file"), completion: .file(extensions: ["npy"]))
    var output: FilePath

    @Option(help: "Maximum number of descriptors per image.")
    var perImage = 300

    @Option(help: "Use every n-th image.")
    var every = 1

    @OptionGroup var timing: TimingOptions

    func validate() throws {
        if !(1...10_000).contains(perImage) { throw ValidationError("--per-image must be between 1 and 10,000.") }
        if every < 1 { throw ValidationError("--every must be at least 1.") }
    }

    func run() throws { try timing.measuringAll(perform) }

    private func perform() throws {
        try OutputFile.check(output)
        let extractor = LocalFeatureExtractor(try LocalFeatureModel.default())
        let detail = LocalFeatureExtractor.Detail(longSide: 384, keypointCount: perImage)
        var rows: [[Float]] = []
        var failures = 0
        for folder in folders {
            let (items, problems) = try ImageSource.items(at: folder.url)
            for problem in problems { StandardError.print("\(problem)") }
            failures += problems.count
            for (index, item) in items.enumerated() where index % every == 0 {
                let image = QueryImage.readOrReport(
                    item.entity.image, options: DecodingOptions(), timings: nil, failures: &failures)
                guard let image else { continue }
                let values = extractor.rawDescriptors(of: image, detail: detail)
                for start in stride(from: 0, to: values.count, by: LocalFeatureExtractor.descriptorLength) {
                    rows.append(Array(values[start..<(start + LocalFeatureExtractor.descriptorLength)]))
                }
            }
        }
        try OutputFile.write(NumPyFile.data(rows, columns: LocalFeatureExtractor.descriptorLength), to: output)
        print("\(rows.count) descriptors written to \(output.text.escaped)")
        if failures > 0 { throw ExitCode.someFailed }
    }
}
