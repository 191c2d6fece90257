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
    /// Components of the unit vector above this are cut, since light changes large gradients most (Lowe, section 6.1).
    private static let largestComponent: Float = 0.2

    let kernels: SIMDTarget
    private let orientationWindow = PatchWindow(sigma: 5.3, radius: 8.5)
    private let descriptorWindow = PatchWindow(sigma: 8)

    init(kernels: SIMDTarget) { self.kernels = kernels }

    /// The orientations of an extremum, in radians, strongest first.
    func orientations(of extremum: KeypointDetector.Extremum, in octave: ScaleSpace.Octave) -> Orientations {
        var patch = patch(around: extremum, in: octave, spacing: Self.orientationSpacing, angle: 0)
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * Self.bins) { memory in
            guard let first = memory.baseAddress else { return Orientations() }
            var (histogram, smooth) = (first, first + Self.bins)
            kernels.table.orientation_histogram(&patch, orientationWindow.weights, histogram)
            let last = Self.bins - 1
            // Smoothed twice, as in Lowe's own program.
            for _ in 0..<2 {
                for bin in 1..<last {
                    smooth[bin] = (histogram[bin - 1] + 2 * histogram[bin] + histogram[bin + 1]) / 4
                }
                smooth[0] = (histogram[last] + 2 * histogram[0] + histogram[1]) / 4
                smooth[last] = (histogram[last - 1] + 2 * histogram[last] + histogram[0]) / 4
                swap(&histogram, &smooth)
            }
            return Self.peaks(of: histogram)
        }
    }

    /// At most two directions; the first of equally strong ones comes first.
    struct Orientations {
        var first: Float?
        var second: Float?
    }

    private static func peaks(of histogram: UnsafePointer<Float>) -> Orientations {
        var highest: Float = 0
        for bin in 0..<bins { highest = max(highest, histogram[bin]) }
        guard highest > 0 else { return Orientations() }
        var (strongest, runnerUp) = (-1, -1)
        for bin in 0..<bins where histogram[bin] >= lowestPeak * highest {
            guard histogram[bin] > histogram[(bin + 1) % bins], histogram[bin] >= histogram[(bin + bins - 1) % bins]
            else { continue }
            if strongest < 0 || histogram[bin] > histogram[strongest] {
                (strongest, runnerUp) = (bin, strongest)
            } else if runnerUp < 0 || histogram[bin] > histogram[runnerUp] {
                runnerUp = bin
            }
        }
        func angle(_ bin: Int) -> Float? {
            guard bin >= 0 else { return nil }
            let (before, after) = (histogram[(bin + bins - 1) % bins], histogram[(bin + 1) % bins])
            let offset = 0.5 * (before - after) / (before - 2 * histogram[bin] + after)
            let turn = (Float(bin) + offset) / Float(bins)
            return (turn - turn.rounded(.down)) * 2 * .pi
        }
        return Orientations(first: angle(strongest), second: angle(runnerUp))
    }

    /// Writes the descriptor, a unit vector of ``length`` components.
    ///
    /// - Precondition: the memory is aligned to 64 bytes.
    func describe(
        _ extremum: KeypointDetector.Extremum, angle: Float, in octave: ScaleSpace.Octave,
        into descriptor: UnsafeMutableBufferPointer<Float>
    ) {
        precondition(descriptor.count == Self.length, "a descriptor has \(Self.length) components")
        var patch = patch(around: extremum, in: octave, spacing: Self.descriptorSpacing, angle: angle)
        kernels.table.gradient_descriptor(&patch, descriptorWindow.weights, descriptor.baseAddress)
        guard let components = descriptor.baseAddress else { return }
        func total(_ term: (SIMD16<Float>) -> SIMD16<Float>) -> Float {
            var sums = SIMD16<Float>.zero
            let parts = UnsafeRawPointer(components)
            for part in 0..<(Self.length / 16) { sums += term(parts.load(fromByteOffset: part * 64, as: SIMD16.self)) }
            return sums.sum()
        }
        let scale = 1 / (total { $0 * $0 } + 1e-20).squareRoot()
        // Loops without sums, which the compiler vectorizes.
        for index in 0..<Self.length {
            let value = components[index] * scale
            components[index] = value < Self.largestComponent ? value : Self.largestComponent
        }
        // RootSIFT: the L1 norm, then square roots, so that dot products compare histograms as Hellinger does.
        let share = 1 / (total { $0 } + 1e-12)
        for index in 0..<Self.length { components[index] = (components[index] * share).squareRoot() }
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
