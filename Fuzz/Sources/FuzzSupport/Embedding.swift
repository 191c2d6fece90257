import Lookalike

/// Embeds a small image, unless the network is so large that the pass would take longer than the time limit.
public func embedImage(with model: FeaturePrintModel) {
    guard model.summary.multiplyAdds < 100_000_000,
        let image = try? PixelBuffer([UInt8](repeating: 90, count: 12 * 9 * 3), width: 12, height: 9, format: .rgb8)
    else { return }
    guard let print = try? model.featurePrint(for: image, threads: 1) else { return }
    precondition(print.vector.count == model.dimension && print.vector.allSatisfy(\.isFinite))
    _ = model.matchThreshold(for: [print])
}
