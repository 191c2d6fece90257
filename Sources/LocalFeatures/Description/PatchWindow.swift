import CKernels
import Foundation

/// Gaussian weights of the samples of a patch, row by row; zero beyond a radius.
struct PatchWindow {
    let weights: [Float]

    /// - Parameters:
    ///   - sigma: the standard deviation, in samples.
    ///   - radius: in samples; the whole patch by default.
    init(sigma: Float, radius: Float = .infinity) {
        let side = Int(LK_PATCH_SIDE)
        weights = (0..<side * side).map { index in
            let (x, y) = (Float(index % side) - Float(side - 1) / 2, Float(index / side) - Float(side - 1) / 2)
            let square = x * x + y * y
            return square > radius * radius ? 0 : exp(-square / (2 * sigma * sigma))
        }
    }
}
