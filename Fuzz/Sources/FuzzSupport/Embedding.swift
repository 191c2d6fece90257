import Lookalike

/// Embeds a small image and what a network finds in it, unless the network is so large that the pass would take longer
/// than the time limit.
public func embedImage(with model: FeaturePrintModel) {
    guard model.summary.operationCount < 100_000_000,
        let image = try? PixelBuffer([UInt8](repeating: 90, count: 12 * 9 * 3), width: 12, height: 9, format: .rgb8)
    else { return }
    // A network may make vectors that are none.
    guard let print = try? model.featurePrint(for: image, threads: 1) else { return }
    precondition(print.vector.count == model.dimension && print.vector.allSatisfy(\.isFinite))
    check(model.matchThreshold(for: [print]))
    guard let query = try? QueryEmbedder(model).embed(image) else { return }
    check(model.matchThreshold(for: query.prints))
}

private func check(_ threshold: Double?) {
    if let threshold { precondition((0...2).contains(threshold), "a threshold of \(threshold)") }
}
