import ArgumentParser
import CommandProcess
import Compute
import DefaultModel
import Foundation
import Lookalike

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Shows and imports models, and writes what one is trained on.",
        subcommands: [Info.self, ModelImportCommand.self, DescriptorCommand.self])

    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints the layers of a network and their costs.")

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
            print("dimension             \(model.dimension)")
            print("SIMD target           \(SIMDTarget.selected.name)")
            print("precision             \(model.precision.rawValue)")
            print("match threshold       " + (model.matchThreshold.map { String(format: "%.4f", $0) } ?? "none"))
            print("background set        " + grouped(model.backgroundSetCount))
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
