import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

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
