import FuzzSupport
import Lookalike

/// Reads a model file and embeds an image with it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzModels(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let precisions: [FeaturePrintModel.Precision?] = [nil, .float32, .int8]
    guard let (precision, file) = FuzzInput(bytes, count).choice(of: precisions) else { return -1 }
    guard let model = try? FeaturePrintModel(file, named: "fuzz", precision: precision) else { return 0 }
    _ = model.summary
    // The pass of a huge network takes longer than the time limit, and is not at fault.
    let work = model.summary.rows.reduce(0) { $0 &+ $1.multiplyAdds }
    guard (0..<100_000_000).contains(work),
        let image = try? PixelBuffer([UInt8](repeating: 90, count: 12 * 9 * 3), width: 12, height: 9, format: .rgb8)
    else { return 0 }
    guard let print = try? model.featurePrint(for: image, threads: 1) else { return 0 }
    precondition(print.vector.count == model.dimension && print.vector.allSatisfy(\.isFinite))
    _ = model.matchThreshold(for: [print])
    return 0
}
