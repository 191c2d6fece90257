import FuzzSupport
import Lookalike
import ONNXImport

/// Imports a network in ONNX format, and embeds an image with the model file made from it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImports(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let file = FuzzInput(bytes, count).data
    guard let network = try? ImportedNetwork(file, named: "fuzz", options: ImportOptions(name: "fuzz")),
        let data = try? network.modelFile()
    else { return 0 }
    if let model = try? FeaturePrintModel(data, named: "fuzz", precision: .float32) { embedImage(with: model) }
    return 0
}
