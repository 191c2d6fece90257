import FuzzSupport
import LocalFeatures
import Lookalike

/// Reads a model file, and embeds an image or extracts its local features with it.
///
/// The first byte chooses the kind of model.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzModels(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let kinds: [ModelKind] = [
        .featurePrints(nil), .featurePrints(.float32), .featurePrints(.int8), .localFeatures,
    ]
    guard let (kind, file) = FuzzInput(bytes, count).choice(of: kinds) else { return -1 }
    switch kind {
    case .featurePrints(let precision):
        guard let model = try? FeaturePrintModel(file, named: "fuzz", precision: precision) else { return 0 }
        embedImage(with: model)
    case .localFeatures:
        let url = FuzzFolder.write(file, to: "local.safetensors")
        guard let model = try? LocalFeatureModel(contentsOf: url) else { return 0 }
        extractFeatures(with: model)
    }
    return 0
}

private enum ModelKind {
    case featurePrints(FeaturePrintModel.Precision?)
    case localFeatures
}

/// Finds an image in itself.
private func extractFeatures(with model: LocalFeatureModel) {
    let image = patternImage(seed: 1)
    let extractor = LocalFeatureExtractor(model)
    let detail = LocalFeatureExtractor.Detail(longSide: 96, keypointCount: 20)
    let features = extractor.features(of: image, detail: detail)
    precondition(LocalFeatures(encoded: features.encoded)?.count == features.count)
    let query = LocalFeatureQuery(extractor.queryFeatures(of: image, detail: detail), model: model)
    _ = query.words
    _ = query.verify(features)
}
