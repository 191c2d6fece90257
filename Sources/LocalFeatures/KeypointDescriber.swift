import CKernels
import Compute
import Foundation

/// Gives keypoints their orientations and their descriptors: histograms of gradients in 4 × 4 cells of 8 directions.
///
/// Lowe, sections 5 and 6, and RootSIFT: R. Arandjelović and A. Zisserman, "Three things everyone should know to
/// improve object retrieval", CVPR 2012. Each patch is sampled once in the keypoint's own axes, 16 × 16 samples, so
/// that all of it is vectorized; the directions are weighed by powers of cosines instead of by angles.
struct KeypointDescriber {
    static let length = Int(LK_DESCRIPTOR_LENGTH)
    private static let bins = Int(LK_ORIENTATION_BINS)

    /// A cell is 3 standard deviations wide, as Lowe's, and has four samples a side.
    private static let descriptorSpacing: Float = 3 / 4
    /// The 16 samples across span 9 standard deviations, the diameter of Lowe's window of 3 × 1.5.
    private static let orientationSpacing: Float = 9 / 16
    /// Peaks of the histogram that are lower than this share of the highest are no orientations (Lowe, section 5).
    private static let lowestPeak: Float = 0.8
    private static let mostOrientations = 2
    /// Components of the unit vector above this are cut, since light changes large gradients most (Lowe, section 6.1).
    private static let largestComponent: Float = 0.2

    let kernels: SIMDTarget
    private let orientationWindow = PatchWindow(sigma: 5.3, radius: 8.5)
    private let descriptorWindow = PatchWindow(sigma: 8)

    init(kernels: SIMDTarget) { self.kernels = kernels }

    /// The orientations of an extremum, in radians, strongest first; at most two.
    func orientations(of extremum: KeypointDetector.Extremum, in octave: ScaleSpace.Octave) -> [Float] {
        var patch = patch(around: extremum, in: octave, spacing: Self.orientationSpacing, angle: 0)
        var histogram = [Float](repeating: 0, count: Self.bins)
        kernels.table.orientation_histogram(&patch, orientationWindow.weights, &histogram)
        let bins = Self.bins
        // Smoothed twice, as in Lowe's own program.
        for _ in 0..<2 {
            let rough = histogram
            for bin in 0..<bins {
                histogram[bin] = (rough[(bin + bins - 1) % bins] + 2 * rough[bin] + rough[(bin + 1) % bins]) / 4
            }
        }
        guard let highest = histogram.max(), highest > 0 else { return [] }
        let peaks = (0..<bins).filter { bin in
            let value = histogram[bin]
            return value >= Self.lowestPeak * highest && value > histogram[(bin + 1) % bins]
                && value >= histogram[(bin + bins - 1) % bins]
        }
        let strongest = peaks.sorted { (histogram[$1], $0) < (histogram[$0], $1) }.prefix(Self.mostOrientations)
        return strongest.map { bin in
            let (before, after) = (histogram[(bin + bins - 1) % bins], histogram[(bin + 1) % bins])
            let offset = 0.5 * (before - after) / (before - 2 * histogram[bin] + after)
            let turn = (Float(bin) + offset) / Float(bins)
            return (turn - turn.rounded(.down)) * 2 * .pi
        }
    }

    /// Writes the descriptor, a unit vector of ``length`` components.
    func describe(
        _ extremum: KeypointDetector.Extremum, angle: Float, in octave: ScaleSpace.Octave,
        into descriptor: UnsafeMutableBufferPointer<Float>
    ) {
        precondition(descriptor.count == Self.length, "a descriptor has \(Self.length) components")
        var patch = patch(around: extremum, in: octave, spacing: Self.descriptorSpacing, angle: angle)
        kernels.table.gradient_descriptor(&patch, descriptorWindow.weights, descriptor.baseAddress)
        var squares: Float = 1e-20
        for value in descriptor { squares += value * value }
        let scale = 1 / squares.squareRoot()
        var sum: Float = 1e-12
        for index in descriptor.indices {
            descriptor[index] = min(descriptor[index] * scale, Self.largestComponent)
            sum += descriptor[index]
        }
        // RootSIFT: the L1 norm, then square roots, so that dot products compare histograms as Hellinger does.
        for index in descriptor.indices { descriptor[index] = (descriptor[index] / sum).squareRoot() }
    }

    private func patch(
        around extremum: KeypointDetector.Extremum, in octave: ScaleSpace.Octave, spacing: Float, angle: Float
    ) -> lk_patch {
        lk_patch(
            plane: octave.plane(extremum.plane), x: extremum.x, y: extremum.y, spacing: spacing * extremum.sigma,
            cosine: cos(angle), sine: sin(angle))
    }
}

/// Gaussian weights of the samples of a patch, row by row; zero beyond a radius.
private struct PatchWindow {
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
