import Foundation
import Inference
import Lookalike
import ONNXImport
import Testing

/// The files of Hugging Face and open_clip beside a network, and the options that take their place.
struct PreprocessingTests {
    private static let nodes: [ProtocolBuffer] = [
        .node("GlobalAveragePool", ["image"], "mean"), .node("Flatten", ["mean"], "out"),
    ]

    /// Imports a network of any size, or of 8×8 pixels, beside a file.
    private func input(
        _ name: String, _ json: String, _ options: ImportOptions = ImportOptions(name: "x"), isDynamic: Bool = true,
        folder: String = "model", nodes: [ProtocolBuffer] = nodes, initializers: [ProtocolBuffer] = []
    ) throws -> (input: NetworkGraph.Input, assumptions: [String]) {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("config-\(UUID().uuidString)")
        let place = root.appendingPathComponent(folder)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try Data(json.utf8).write(to: (folder == "onnx" ? root : place).appendingPathComponent(name))
        let side = isDynamic ? 0 : 8
        let file = ProtocolBuffer.model(nodes, initializers: initializers, input: [1, 3, side, side])
        let network = place.appendingPathComponent("x.onnx")
        try file.data.write(to: network)
        let imported = try ImportedNetwork(contentsOf: network, options: options)
        // The model file has it, too.
        let model = try FeaturePrintModel(imported.modelFile(), named: "x")
        #expect(model.input == imported.graph.input)
        return (imported.graph.input, imported.assumptions)
    }

    private static let normalization = #""image_mean": [0.5, 0.25, 0.125], "image_std": [0.5, 0.25, 1]"#

    @Test(arguments: ["model", "onnx"]) func huggingFaceResizesTheShortestSide(folder: String) throws {
        let json = """
            {"do_resize": true, "size": {"shortest_edge": 20}, "resample": 3, "do_center_crop": true,
             "crop_size": {"height": 16, "width": 16}, "do_rescale": true, "rescale_factor": 0.00392156862745098,
             "do_normalize": true, \(Self.normalization), "image_processor_type": "BitImageProcessor"}
            """
        let (input, assumptions) = try input("preprocessor_config.json", json, folder: folder)
        #expect(input.width == 16 && input.height == 16 && input.shortestSide == 20 && input.filter == .bicubic)
        #expect(zip(input.mean, [0.5, 0.25, 0.125]).allSatisfy { abs($0 - $1) < 1e-6 })
        #expect(zip(input.std, [0.5, 0.25, 1]).allSatisfy { abs($0 - $1) < 1e-6 })
        #expect(assumptions[0].contains("as preprocessor_config.json says"), "\(assumptions)")
        #expect(assumptions[2].contains("20 pixels") && assumptions[2].contains("bicubic"), "\(assumptions)")
    }

    @Test func huggingFaceStretches() throws {
        let json =
            #"{"size": {"height": 24, "width": 24}, "resample": 2, "rescale_factor": 1, "image_mean": [127.5, 0, 0],"#
            + #" "image_std": [255, 127.5, 255]}"#
        let (input, _) = try input("preprocessor_config.json", json)
        #expect(input.width == 24 && input.shortestSide == nil && input.filter == .bilinear)
        #expect(zip(input.mean + input.std, [0.5, 0, 0, 1, 0.5, 1]).allSatisfy { abs($0 - $1) < 1e-6 })
    }

    /// ConvNeXt's processor: a smaller network sees the center.
    @Test func huggingFaceCropsAShare() throws {
        let json =
            #"{"size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3, "#
            + "\(Self.normalization)}"
        let (input, _) = try input("preprocessor_config.json", json)
        #expect(input.width == 224 && input.shortestSide == 256)
    }

    @Test(arguments: [(#", "resize_mode": "squash""#, nil), ("", 32)])
    func openCLIP(mode: String, shortest: Int?) throws {
        let json =
            #"{"model_cfg": {"vision_cfg": {"image_size": 32}}, "preprocess_cfg": {"mean": [0.5, 0.5, 0.5],"#
            + #" "std": [0.5, 0.5, 0.5], "interpolation": "bicubic"\#(mode)}}"#
        let (input, assumptions) = try input("open_clip_config.json", json)
        #expect(input.width == 32 && input.shortestSide == shortest && input.filter == .bicubic)
        #expect(input.mean == [0.5, 0.5, 0.5] && assumptions[0].contains("open_clip_config.json"))
    }

    @Test func optionsComeFirst() throws {
        let json = #"{"size": {"longest_edge": 20}, "resample": 1, \#(Self.normalization)}"#
        let error = #expect(throws: ImportError.self) {
            try input("preprocessor_config.json", json, ImportOptions(name: "x", inputSize: 16))
        }
        #expect(error?.description.contains("preprocessor_config.json: resamples images by the filter 1") == true)
        let options = ImportOptions(
            name: "x", inputSize: 16, mean: [0, 0, 0], std: [1, 1, 1], resize: .shortest(nil), filter: .bilinear)
        let given = try input("preprocessor_config.json", json, options).input
        #expect(given.shortestSide == 16 && given.filter == .bilinear && given.mean == [0, 0, 0])
    }

    /// The share of the image that the network sees stays, if its input is another one than the file's.
    @Test func anotherSizeKeepsTheShare() throws {
        let json =
            #"{"size": {"shortest_edge": 256}, "crop_size": 224, "do_center_crop": true, "resample": 3, "#
            + "\(Self.normalization)}"
        let options = ImportOptions(name: "x", inputSize: 448)
        #expect(try input("preprocessor_config.json", json, options).input.shortestSide == 512)
        #expect(try input("preprocessor_config.json", json, isDynamic: false).input.shortestSide == 9)
    }

    /// The file says what the training did; the exported network may do a part of it by itself.
    @Test func aNetworkThatNormalizesIsBelieved() throws {
        let nodes: [ProtocolBuffer] = [
            .node("Sub", ["image", "half"], "a"), .node("Div", ["a", "half"], "b"),
            .node("GlobalAveragePool", ["b"], "mean"), .node("Flatten", ["mean"], "out"),
        ]
        let (input, _) = try input(
            "preprocessor_config.json", "{\(Self.normalization)}", isDynamic: false, nodes: nodes,
            initializers: [.floats("half", [0.5])])
        #expect(input.mean == [0, 0, 0] && input.std == [1, 1, 1])
    }

    @Test(arguments: [
        (#"{"size": {"shortest_edge": 20}, "image_mean": [0, 0, 0], "image_std": [1, 1, 1]}"#, "give --resize"),
        (#"{"size": 20, "do_normalize": true}"#, "image_mean"), ("[]", "is not such a file"), ("{", "is not such"),
    ])
    func unusableFilesAreNamed(json: String, words: String) {
        let error = #expect(throws: ImportError.self) { try input("preprocessor_config.json", json) }
        let description = error?.description ?? ""
        #expect(description.contains("preprocessor_config.json") && description.contains(words), "\(description)")
    }

    @Test func aMissingSizeNamesItsOption() {
        let file = ProtocolBuffer.model(Self.nodes, input: [1, 3, 0, 0])
        let error = #expect(throws: ImportError.self) {
            try ImportedNetwork(file.data, named: "x", options: ImportOptions(name: "x"))
        }
        #expect(error?.description.contains("--input-size") == true)
    }

    @Test func aSideSmallerThanTheInputIsRefused() throws {
        let file = ProtocolBuffer.model(Self.nodes, input: [1, 3, 8, 8]).data
        let options = ImportOptions(name: "x", resize: .shortest(4))
        let network = try ImportedNetwork(file, named: "x", options: options)
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(network.modelFile(), named: "x") }
        #expect(error?.description.contains("shortest side is 4") == true)
    }

    /// A model that takes the center gives the print of the center.
    @Test func theCenterIsEmbedded() throws {
        let file = ProtocolBuffer.model(Self.nodes, input: [1, 3, 8, 8]).data
        func model(_ resize: ImportOptions.Resize) throws -> FeaturePrintModel {
            let options = ImportOptions(name: "x", mean: [0, 0, 0], std: [1, 1, 1], resize: resize)
            return try FeaturePrintModel(
                ImportedNetwork(file, named: "x", options: options).modelFile(), named: "x")
        }
        // Blue on both sides of a green square.
        var bytes: [UInt8] = []
        for _ in 0..<40 {
            for x in 0..<100 { bytes += (30..<70).contains(x) ? [0, 200, 0] : [0, 0, 200] }
        }
        let image = try PixelBuffer(bytes, width: 100, height: 40, format: .rgb8)
        let center = try model(.shortest(nil)).featurePrint(for: image).vector
        #expect(abs(center[1] - 1) < 0.01 && center[2] < 0.1, "\(center)")
        // So is that of what a quadrilateral shows, here the whole picture upside down.
        let (left, right, top, bottom) = (0.0, 1.0, 0.0, 1.0)
        let outline = Quadrilateral(
            topLeft: .init(x: right, y: bottom), topRight: .init(x: left, y: bottom),
            bottomRight: .init(x: left, y: top), bottomLeft: .init(x: right, y: top))
        let rectified = try model(.shortest(nil)).embed([ImageCrop(image, quadrilateral: outline)])[0].print.vector
        #expect(abs(rectified[1] - 1) < 0.01 && rectified[2] < 0.1, "\(rectified)")
        let whole = try model(.stretch).featurePrint(for: image).vector
        #expect(whole[2] > whole[1], "\(whole)")
        // A smaller share of the image.
        let part = try model(.shortest(16)).featurePrint(for: image).vector
        #expect(part[1] == 1 && part[2] == 0, "\(part)")
    }
}
