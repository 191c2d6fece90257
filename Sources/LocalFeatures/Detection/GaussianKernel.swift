import CKernels
import Foundation

/// The weights of a Gaussian at whole pixels, from its center outwards; together with their mirror image they sum to 1.
struct GaussianKernel {
    let taps: [Float]

    var radius: Int { taps.count - 1 }

    /// Cut off at 3.5 standard deviations, which leaves out 0.05 % of the weight.
    init(sigma: Float) {
        let radius = min(Int((3.5 * sigma).rounded(.up)), Int(LK_LARGEST_BLUR_RADIUS))
        let weights = (0...radius).map { exp(-Float($0 * $0) / (2 * sigma * sigma)) }
        let sum = 2 * weights.reduce(0, +) - weights[0]
        taps = weights.map { $0 / sum }
    }
}
