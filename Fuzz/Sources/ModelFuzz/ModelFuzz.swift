import FuzzSupport
import Lookalike

/// Reads a model file and embeds an image with it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzModels(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let precisions: [FeaturePrintModel.Precision?] = [nil, .float32, .int8]
    guard let (precision, file) = FuzzInput(bytes, count).choice(of: precisions) else { return -1 }
    guard let model = try? FeaturePrintModel(file, named: "fuzz", precision: precision) else { return 0 }
    embedImage(with: model)
    return 0
}
