import FuzzSupport
import Lookalike
import ONNXImport

/// Imports a network in ONNX format, and embeds an image with the model file made from it.
///
/// The first byte chooses what is asked of the import.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImports(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (kind, file) = FuzzInput(bytes, count).choice(of: ImportKind.allCases) else { return -1 }
    var options = ImportOptions(name: "fuzz")
    switch kind {
    case .plain, .calibrated: break
    case .sized: options.inputSize = 20
    case .raw: options.normalizesPrint = false
    }
    guard let network = try? ImportedNetwork(file, named: "fuzz", options: options),
        let data = try? network.modelFile(),
        let model = try? FeaturePrintModel(data, named: "fuzz", precision: .float32)
    else { return 0 }
    embedImage(with: model)
    // A calibration runs the network for each of its tensors.
    guard kind == .calibrated, model.summary.operationCount < 10_000_000,
        let calibration = try? Calibration(of: network, images: [patternImage(seed: 1), patternImage(seed: 2)])
    else { return 0 }
    if let model = try? FeaturePrintModel(calibration.modelFile, named: "fuzz") { embedImage(with: model) }
    return 0
}

/// The order is part of the format of inputs.
private enum ImportKind: CaseIterable {
    case plain, sized, raw, calibrated
}
