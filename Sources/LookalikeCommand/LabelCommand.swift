import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

struct LabelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "label",
        abstract: "Ranks labels for images, by a model that reads texts.",
        discussion: """
            A label is compared with an image by the distance of their prints:

              lookalike label --model clip.safetensors --labels "lamp, chair" photo.jpg

            --template puts each into a sentence, as such models were trained with. Probabilities are \
            printed if the model file has a scale for them (“lookalike model import --logit-scale”): they \
            add up to 1 over the labels, or are each label’s own if it has a bias, too.

            With --json, one line per image:
            {"image":"photo.jpg","labels":[{"distance":1.21,"label":"lamp","probability":0.93},…]}
            """)

    @OptionGroup var precision: PrecisionOption

    @Option(
        help: ArgumentHelp("A model file whose model reads texts.", valueName: "file"),
        completion: .file(extensions: ["safetensors"]))
    var model: FilePath

    @Option(help: ArgumentHelp("The labels, with commas between.", valueName: "list"))
    var labels: String

    @Option(
        help: ArgumentHelp(
            "A sentence with {} in the place of the label, such as “a photo of a {}”.", valueName: "text"))
    var template = "{}"

    @Option(help: "The maximum number of labels per image; all by default.")
    var limit: Int?

    @Flag(help: "Print one line of JSON per image.")
    var json = false

    @OptionGroup var images: QueryImages

    private var names: [String] {
        labels.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    func validate() throws {
        if names.isEmpty { throw ValidationError("--labels has none.") }
        if !template.contains("{}") { throw ValidationError("--template lacks {}, the place of the label.") }
        if let limit, limit < 0 { throw ValidationError("--limit cannot be negative.") }
        if images.isEmpty { throw ValidationError("Missing an image.") }
    }

    func run() throws {
        let model = try precision.loadModel(model)
        let labels = try ImageLabels(names, template: template, model: model)
        var failures = 0
        for argument in try images.paths() {
            guard
                let image = QueryImage.readOrReport(
                    argument, options: model.decodingOptions, timings: nil, failures: &failures)
            else { continue }
            let rows = try labels.ranked(for: model.featurePrint(for: image), limit: limit)
            if json {
                print(try LabelAnswer(image: argument, labels: rows).line)
                continue
            }
            print(argument.escaped)
            for row in rows {
                let probability = row.probability.map { String(format: "%5.1f %%  ", 100 * $0) } ?? ""
                print("  " + probability + String(format: "%.3f  ", row.distance) + row.label.escaped)
            }
        }
        if failures > 0 { throw ExitCode.someFailed }
    }
}
